// Streams that a client sends, by WebSocket. Each text frame has one JSON message, in both
// directions. An empty frame follows the last message. `portico client` adds this to the client of
// a service that takes streams.
package portico

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// maxUnread is the maximum number of messages that are read ahead of the caller, so that Portico's
// pings get a response while the caller is busy.
const maxUnread = 16

// A close code of Portico is this number plus an HTTP status.
const statusCodes = 4000

// BidiStream is a call in which both sides stream. One goroutine may send while another receives.
type BidiStream[S, A any] struct {
	socket *socket
}

// Send sends a message. It waits while the service does not read. io.EOF means that the call has
// ended: Recv returns the reason.
func (s *BidiStream[S, A]) Send(message S) error {
	return s.socket.send(message)
}

// CloseSend sends the end of the message stream. More responses may arrive.
func (s *BidiStream[S, A]) CloseSend() error {
	return s.socket.closeSend()
}

// Recv waits for the next response. After the last one it returns io.EOF.
func (s *BidiStream[S, A]) Recv() (answer A, err error) {
	return answer, s.socket.receive(&answer)
}

// Close ends the call if it has not ended. Always defer it. It returns nil, so that a stream is an
// io.Closer.
func (s *BidiStream[S, A]) Close() error {
	return s.socket.close()
}

// ClientStream is a call in which the client streams, and the service responds with one message.
type ClientStream[S, A any] struct {
	socket *socket
}

// Send sends a message. It waits while the service does not read. io.EOF means that the call has
// ended: CloseAndRecv returns the reason.
func (s *ClientStream[S, A]) Send(message S) error {
	return s.socket.send(message)
}

// CloseAndRecv sends the end of the message stream, and waits for the response.
func (s *ClientStream[S, A]) CloseAndRecv() (answer A, err error) {
	defer s.Close()
	_ = s.socket.closeSend() // If the call has ended, its response or error can be read already.
	err = s.socket.receive(&answer)
	if err == io.EOF {
		err = &Error{Id: s.socket.endpoint.service, Code: 502, Detail: "The call ended without a response", Status: "Bad Gateway"}
	}
	return answer, err
}

// Close ends the call if it has not ended. Always defer it. It returns nil, so that a stream is an
// io.Closer.
func (s *ClientStream[S, A]) Close() error {
	return s.socket.close()
}

func bidiStream[S, A any](ctx context.Context, t *transport, e endpoint) (*BidiStream[S, A], error) {
	socket, err := dial(ctx, t, e)
	if err != nil {
		return nil, err
	}
	return &BidiStream[S, A]{socket}, nil
}

func clientStream[S, A any](ctx context.Context, t *transport, e endpoint) (*ClientStream[S, A], error) {
	socket, err := dial(ctx, t, e)
	if err != nil {
		return nil, err
	}
	return &ClientStream[S, A]{socket}, nil
}

// socket is the WebSocket of one call.
type socket struct {
	transport *transport
	endpoint  endpoint
	ctx       context.Context
	cancel    context.CancelCauseFunc
	silence   *time.Timer
	conn      *websocket.Conn
	// Frames that were not received by the caller yet. Closed at the end of the call, after end has
	// been set.
	frames chan []byte
	// The error that ended the call, or io.EOF if the call succeeded.
	end error
	// A frame that was read ahead from frames.
	next []byte
}

// dial opens the WebSocket of a call. The service is called with the first message, so every
// failure to open is safe to retry.
func dial(ctx context.Context, t *transport, e endpoint) (*socket, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &socket{transport: t, endpoint: e, ctx: ctx, cancel: cancel, frames: make(chan []byte, maxUnread)}
	s.silence = time.AfterFunc(maxSilence, func() { cancel(errSilent()) })
	e.idempotent = true
	conn, err := retry(ctx, t, e, func() (*websocket.Conn, error) {
		header := t.header(ctx)
		conn, response, err := websocket.Dial(ctx, t.url(e), &websocket.DialOptions{
			HTTPClient:     t.options.HTTPClient,
			HTTPHeader:     header,
			OnPingReceived: func(context.Context, []byte) bool { s.heard(); return true },
		})
		if err == nil {
			return conn, nil
		}
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
			return nil, refusal(e, response)
		}
		return nil, t.failure(ctx, e, err)
	})
	if err != nil {
		s.silence.Stop()
		cancel(nil)
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	s.conn = conn
	go s.read()
	return s, nil
}

// heard restarts the timer of maxSilence when a message or a ping arrives. Portico sends a ping
// every 15 s.
func (s *socket) heard() {
	s.silence.Reset(maxSilence)
}

// read reads frames from the connection until the call ends. While the caller reads none, it reads
// at most maxUnread frames.
func (s *socket) read() {
	defer close(s.frames)
	defer s.silence.Stop()
	for s.end == nil {
		_, frame, err := s.conn.Read(s.ctx)
		if err != nil {
			s.end = s.ending(err)
			break
		}
		s.silence.Stop() // Time that the caller takes for a message is not silence.
		select {
		case s.frames <- frame:
			s.heard()
		case <-s.ctx.Done():
			s.end = s.ending(s.ctx.Err())
		}
	}
	s.cancel(nil)
	_ = s.conn.CloseNow()
}

// ending returns the reason why the WebSocket has ended.
func (s *socket) ending(err error) error {
	var closed websocket.CloseError
	if s.ctx.Err() != nil || !errors.As(err, &closed) {
		return s.transport.failure(s.ctx, s.endpoint, err)
	}
	code := int(closed.Code)
	switch {
	case closed.Code == websocket.StatusNormalClosure:
		return io.EOF
	case code > statusCodes:
		code -= statusCodes
		return &Error{Id: s.endpoint.service, Code: code, Detail: closed.Reason, Status: http.StatusText(code), cause: err}
	}
	return s.transport.failure(s.ctx, s.endpoint, err)
}

func (s *socket) send(message any) error {
	text, err := marshal(message)
	if err != nil {
		return &Error{Id: s.endpoint.service, Code: 400, Detail: err.Error(), Status: "Bad Request", cause: err}
	}
	return s.write(text)
}

func (s *socket) closeSend() error {
	return s.write(nil)
}

func (s *socket) write(text []byte) error {
	if err := s.conn.Write(s.ctx, websocket.MessageText, text); err != nil {
		return io.EOF
	}
	return nil
}

func (s *socket) receive(answer any) error {
	frame, ok := s.take()
	if !ok {
		return s.end
	}
	if failure := errorObject(frame); failure != nil {
		// A message may look like an error. It is one only if Portico then closes with an error code.
		next, more := <-s.frames
		if ended := (*Error)(nil); !more && errors.As(s.end, &ended) && ended.Code == failure.Code {
			s.end = failure
			return failure
		}
		s.next = next
	}
	return unmarshal(frame, answer)
}

func (s *socket) take() (frame []byte, ok bool) {
	if s.next != nil {
		frame, s.next = s.next, nil
		return frame, true
	}
	frame, ok = <-s.frames
	return frame, ok
}

func (s *socket) close() error {
	s.cancel(nil)
	return nil
}

// errorObject reads a frame that has the members of an error and no others, or returns nil for any
// other.
func errorObject(frame []byte) *Error {
	if !bytes.HasPrefix(frame, []byte(`{"Id":`)) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(frame))
	decoder.DisallowUnknownFields()
	failure := new(Error)
	if decoder.Decode(failure) != nil || failure.Code < 400 || failure.Detail == "" {
		return nil
	}
	return failure
}
