// Package portico is the runtime of a Portico client in Go: calls, server streams, errors,
// deadlines and retries over net/http. `portico client <service> --lang go` writes it, and after it
// the messages and endpoints of the service.
package portico

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Options say how a client reaches Portico. The zero value reads the environment.
type Options struct {
	// URL is the base address. Default: PORTICO_URL, otherwise http://127.0.0.1:8080.
	URL string

	// Token is an access token or API key. Default: PORTICO_TOKEN.
	Token string

	// TokenFunc gives the token instead of Token. It is called before the first call, with an empty
	// text. When a token is refused with 401, it is called once more with that token, and the call is
	// repeated once. It must be safe for use by several goroutines.
	TokenFunc func(ctx context.Context, refused string) (string, error)

	// Namespace is the namespace to call in. Default: PORTICO_NAMESPACE, otherwise the token's own.
	Namespace string

	// Timeout is the maximum time of a call including its retries, if its context has no deadline.
	// Default 30 s. A stream has a deadline only if its context has one.
	Timeout time.Duration

	// Retries is the maximum number of retries of a call. A call is retried only when that is safe.
	// Default 2. A negative number means no retries.
	Retries int

	// HTTPClient makes the requests. Default: a new client that follows no redirects.
	HTTPClient *http.Client
}

// Error is a call that failed: it was refused, or got no response.
type Error struct {
	// Id is the service that was called, or "gateway" if none was found, or a limit refused the call.
	Id string

	// Code is the HTTP status. 503 also if Portico could not be reached, 504 also if the deadline
	// passed.
	Code int

	// Detail says what is wrong, in words for the caller.
	Detail string

	// Status is the name of the code, such as "Unauthorized".
	Status string

	// Details are more details from the service: messages of google.rpc, such as BadRequest.
	// "@type" names the type of each.
	Details []map[string]any

	// RequestID is the X-Request-Id of the response. With it an operator finds the call in the log.
	RequestID string `json:"-"`

	// RetryAfter is the time to wait before a retry, if the response said so.
	RetryAfter time.Duration `json:"-"`

	// NeverSent says that the call certainly did not reach Portico, because no connection could be opened.
	NeverSent bool `json:"-"`

	cause error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (%d %s)", e.Detail, e.Code, e.Status)
}

// Unwrap returns the error of the connection or the context, such as context.Canceled.
func (e *Error) Unwrap() error {
	return e.cause
}

// Is makes errors.Is(err, context.DeadlineExceeded) true for each 504. At the end of a deadline it is
// chance whether the client or Portico notices first.
func (e *Error) Is(target error) bool {
	return e.Code == 504 && target == context.DeadlineExceeded
}

// HTTPBody is raw bytes as a request or response instead of a message (google.api.HttpBody).
type HTTPBody struct {
	// ContentType is for example "image/png".
	ContentType string

	Data []byte
}

// Ptr returns a pointer to a value, for optional fields: Ptr("Ada") is a *string.
func Ptr[T any](value T) *T {
	return &value
}

const (
	defaultURL     = "http://127.0.0.1:8080"
	defaultTimeout = 30 * time.Second
	defaultRetries = 2
	// The maximum wait before the first retry, which doubles with each retry, and its upper bound.
	firstWait = 100 * time.Millisecond
	maxWait   = 2 * time.Second
	// A stream without a deadline is not retried if the response asks for a longer wait.
	maxRetryAfter = 30 * time.Second
	// A call without a deadline waits for TokenFunc no longer than this.
	maxTokenWait = 30 * time.Second
	// The maximum of the header Grpc-Timeout in milliseconds: it has at most eight digits.
	maxGrpcTimeout = 99_999_999
	maxMessage     = 64 << 20
)

// maxSilence is the maximum time in which a stream may bring nothing. While a stream has no
// message, Portico sends an empty line or a ping every 15 s.
var maxSilence = 45 * time.Second

func errSilent() error {
	return fmt.Errorf("the stream was silent for %v", maxSilence)
}

// endpoint says how an endpoint is called.
type endpoint struct {
	service string
	// The path without a version: "/helloworld/Call".
	path string
	// Whether the contract declares the endpoint free of side effects or idempotent.
	idempotent bool
}

// transport makes calls. It is safe for use by several goroutines.
type transport struct {
	options Options
	// The token that was given last; nil before the first.
	token atomic.Pointer[string]
}

func newTransport(options Options) *transport {
	options.URL = strings.TrimRight(first(options.URL, os.Getenv("PORTICO_URL"), defaultURL), "/")
	options.Token = first(options.Token, os.Getenv("PORTICO_TOKEN"))
	options.Namespace = first(options.Namespace, os.Getenv("PORTICO_NAMESPACE"))
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.Retries == 0 {
		options.Retries = defaultRetries
	}
	if options.HTTPClient == nil {
		notFollowed := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		options.HTTPClient = &http.Client{CheckRedirect: notFollowed}
	}
	t := &transport{options: options}
	if options.TokenFunc == nil {
		t.token.Store(&options.Token)
	}
	return t
}

// currentToken is empty if calls have no token.
func (t *transport) currentToken() string {
	if token := t.token.Load(); token != nil {
		return *token
	}
	return ""
}

// ask calls TokenFunc. It waits no longer than the call may take, also for a function that ignores
// its context.
func (t *transport) ask(ctx context.Context, e endpoint, refused string) error {
	ctx, cancel := context.WithTimeout(ctx, maxTokenWait)
	defer cancel()
	type result struct {
		token string
		err   error
	}
	given := make(chan result, 1)
	go func() {
		token, err := t.options.TokenFunc(ctx, refused)
		given <- result{token, err}
	}()
	select {
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return t.failure(ctx, e, ctx.Err())
		}
		return &Error{Id: e.service, Code: 504, Detail: "TokenFunc gave no token in time", Status: "Gateway Timeout"}
	case r := <-given:
		if r.err != nil {
			return &Error{Id: e.service, Code: 401, Detail: "TokenFunc failed: " + r.err.Error(), Status: "Unauthorized"}
		}
		t.token.Store(&r.token)
		return nil
	}
}

// renew gets another token after one was refused. It reports whether there is another one.
func (t *transport) renew(ctx context.Context, e endpoint, refused string) (bool, error) {
	if t.options.TokenFunc == nil || refused == "" {
		return false, nil
	}
	// Another call may have renewed it in the meantime.
	if t.currentToken() == refused {
		if err := t.ask(ctx, e, refused); err != nil {
			return false, err
		}
	}
	return t.currentToken() != refused, nil
}

func first(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// unary calls an endpoint that responds with one message.
func unary[A any](ctx context.Context, t *transport, e endpoint, request any) (A, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.options.Timeout)
		defer cancel()
	}
	return retry(ctx, t, e, func() (A, error) {
		var answer A
		response, err := open[A](ctx, t, e, request)
		if err != nil {
			return answer, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return answer, t.failure(ctx, e, err)
		}
		return answer, read(&answer, response, body)
	})
}

// stream calls an endpoint that responds with a stream. Messages are read as they are sent. After
// an error there are no more.
func stream[A any](ctx context.Context, t *transport, e endpoint, request any) iter.Seq2[A, error] {
	return func(yield func(A, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(maxSilence, func() { cancel(errSilent()) })
		defer timer.Stop()
		response, err := retry(ctx, t, e, func() (*http.Response, error) { return open[A](ctx, t, e, request) })
		if err != nil {
			var none A
			yield(none, err)
			return
		}
		defer response.Body.Close()
		next := messages[A](response)
		for {
			timer.Reset(maxSilence)
			answer, err := next()
			if err == io.EOF {
				return
			}
			var sent *Error
			if err != nil && !errors.As(err, &sent) {
				err = t.failure(ctx, e, err)
			}
			timer.Stop() // Time that the caller takes for a message is not silence.
			if !yield(answer, err) || err != nil {
				return
			}
		}
	}
}

// messages reads one JSON object in each line, or raw bytes as they arrive.
func messages[A any](response *http.Response) func() (A, error) {
	reader := bufio.NewReaderSize(response.Body, 64<<10)
	if isBytes[A]() {
		chunk := make([]byte, 64<<10)
		return func() (answer A, err error) {
			size, err := reader.Read(chunk)
			if size == 0 {
				return answer, err
			}
			return answer, read(&answer, response, bytes.Clone(chunk[:size]))
		}
	}
	return func() (answer A, err error) {
		for {
			line, err := readLine(reader)
			if err != nil {
				return answer, err
			}
			if len(line) == 0 {
				continue // A heartbeat.
			}
			if failure := lastLine(line, response); failure != nil {
				return answer, failure
			}
			return answer, read(&answer, response, line)
		}
	}
}

// readLine reads to a line feed. It fails on a line that is longer than any message.
func readLine(reader *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		chunk, err := reader.ReadSlice('\n')
		line = append(line, chunk...)
		if err == nil {
			return line[:len(line)-1], nil
		}
		if err != bufio.ErrBufferFull {
			return nil, err
		}
		if len(line) > maxMessage {
			return nil, fmt.Errorf("a message has more than %d MiB", maxMessage>>20)
		}
	}
}

// lastLine returns the error that ended a stream, or nil for a message.
func lastLine(line []byte, response *http.Response) error {
	var last map[string]json.RawMessage
	if !bytes.HasPrefix(line, []byte(`{"error":{"Id":`)) || json.Unmarshal(line, &last) != nil || len(last) != 1 {
		return nil
	}
	failure := new(Error)
	if json.Unmarshal(last["error"], failure) != nil || failure.Code == 0 {
		return nil
	}
	failure.RequestID = response.Header.Get("X-Request-Id")
	return failure
}

// retry retries a call when that is safe: when no connection could be opened, or when the gateway
// refused it with 429 or 503 before it called a service. An idempotent endpoint is also retried
// after any 429 and 503, and after a broken connection. Waits have jitter, so that clients that
// failed at the same time do not retry at the same time. After a 401 a call is repeated once, if
// there is another token.
func retry[A any](ctx context.Context, t *transport, e endpoint, attempt func() (A, error)) (A, error) {
	if t.token.Load() == nil {
		if err := t.ask(ctx, e, ""); err != nil {
			var none A
			return none, err
		}
	}
	renewed := false
	for tried := 0; ; tried++ {
		token := t.currentToken()
		answer, err := attempt()
		var failure *Error
		if !renewed && errors.As(err, &failure) && failure.Code == 401 {
			renewed = true
			isOther, problem := t.renew(ctx, e, token)
			if problem != nil {
				return answer, problem
			}
			if isOther {
				tried--
				continue
			}
		}
		if err == nil || !errors.As(err, &failure) || tried >= t.options.Retries || ctx.Err() != nil {
			return answer, err
		}
		isBusy := failure.Code == 429 || failure.Code == 503
		isSafe := failure.NeverSent || (isBusy && (e.idempotent || failure.Id == "gateway"))
		wait := failure.RetryAfter + time.Duration(rand.Int64N(int64(min(maxWait, firstWait<<min(tried, 10)))))
		limit := maxRetryAfter
		if deadline, ok := ctx.Deadline(); ok {
			limit = time.Until(deadline)
		}
		if !isSafe || wait > limit {
			return answer, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return answer, t.failure(ctx, e, ctx.Err())
		}
	}
}

// url is the address of an endpoint. With a token the path begins with /v1, where the token must be
// valid. But a token is valid in its own namespace only, so a call that names a namespace has no
// /v1.
func (t *transport) url(e endpoint) string {
	if t.currentToken() != "" && t.options.Namespace == "" {
		return t.options.URL + "/v1" + e.path
	}
	return t.options.URL + e.path
}

// header returns the headers of every call: the caller, the namespace and the remaining time.
func (t *transport) header(ctx context.Context) http.Header {
	header := http.Header{}
	if token := t.currentToken(); token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	if t.options.Namespace != "" {
		header.Set("Platform-Namespace", t.options.Namespace)
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := max(1, min(time.Until(deadline).Milliseconds()+1, maxGrpcTimeout))
		header.Set("Grpc-Timeout", strconv.FormatInt(left, 10)+"m")
	}
	return header
}

// open sends a request and returns the response, after only its headers have arrived.
func open[A any](ctx context.Context, t *transport, e endpoint, request any) (*http.Response, error) {
	contentType, body := "application/json", []byte(nil)
	if raw, ok := request.(*HTTPBody); ok && raw != nil {
		contentType, body = raw.ContentType, raw.Data
	} else {
		text, err := marshal(request)
		if err != nil {
			return nil, &Error{Id: e.service, Code: 400, Detail: err.Error(), Status: "Bad Request", cause: err}
		}
		body = text
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url(e), bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Id: e.service, Code: 400, Detail: err.Error(), Status: "Bad Request", cause: err}
	}
	post.Header = t.header(ctx)
	post.Header.Set("Content-Type", contentType)
	post.Header.Set("Accept", "application/json")
	response, err := t.options.HTTPClient.Do(post)
	if err != nil {
		return nil, t.failure(ctx, e, err)
	}
	given := response.Header.Get("Content-Type")
	isJSON := strings.HasPrefix(given, "application/json") || strings.HasPrefix(given, "application/x-ndjson")
	if response.StatusCode/100 == 2 && (isJSON || isBytes[A]() || hasNoContent(response)) {
		return response, nil
	}
	defer response.Body.Close()
	return nil, refusal(e, response)
}

// refusal reads the error of a response that is not a result.
func refusal(e endpoint, response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxMessage))
	failure := new(Error)
	if json.Unmarshal(body, failure) != nil || failure.Code == 0 {
		detail := fmt.Sprintf("%s answered %d, but not as Portico does", response.Request.URL, response.StatusCode)
		failure = &Error{Id: e.service, Code: response.StatusCode, Detail: detail, Status: http.StatusText(response.StatusCode)}
	}
	failure.RequestID = response.Header.Get("X-Request-Id")
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31); err == nil {
		failure.RetryAfter = time.Duration(seconds) * time.Second
	}
	return failure
}

// failure is the error when a connection could not be opened, or broke, or when a context ended.
func (t *transport) failure(ctx context.Context, e endpoint, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Id: e.service, Code: 504, Detail: "No response before the deadline", Status: "Gateway Timeout", cause: ctx.Err()}
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) {
		return &Error{Id: e.service, Code: 499, Detail: "The call was cancelled", Status: "Client Closed Request", cause: err}
	}
	var dial *net.OpError
	neverSent := errors.As(err, &dial) && dial.Op == "dial"
	detail := fmt.Sprintf("No response from %s: %v", t.options.URL, err)
	return &Error{Id: e.service, Code: 503, Detail: detail, Status: "Service Unavailable", NeverSent: neverSent, cause: err}
}

func isBytes[A any]() bool {
	return reflect.TypeFor[A]() == reflect.TypeFor[*HTTPBody]()
}

// read fills a result from a body: raw bytes, or JSON.
func read[A any](answer *A, response *http.Response, body []byte) error {
	if raw, ok := any(answer).(**HTTPBody); ok {
		*raw = &HTTPBody{ContentType: response.Header.Get("Content-Type"), Data: body}
		return nil
	}
	if hasNoContent(response) {
		body = []byte("{}")
	}
	return unmarshal(body, answer)
}

// hasNoContent tells whether a response is an empty message, because an option of the service sets
// its status.
func hasNoContent(response *http.Response) bool {
	return response.StatusCode == http.StatusNoContent || response.StatusCode == http.StatusResetContent
}

// Messages in proto3 JSON (https://protobuf.dev/programming-guides/json/), by the types of their
// fields. A pointer is an optional field. A string type other than string is an enum.

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	bytesType    = reflect.TypeFor[[]byte]()
	stringType   = reflect.TypeFor[string]()
	digits       = regexp.MustCompile(`^-?[0-9]+$`)
)

func marshal(value any) ([]byte, error) {
	encoded := encode(reflect.ValueOf(value))
	if encoded == nil {
		encoded = map[string]any{} // A request of nil is an empty message.
	}
	return json.Marshal(encoded)
}

func encode(value reflect.Value) any {
	if !value.IsValid() {
		return nil
	}
	switch value.Type() {
	case timeType:
		return value.Interface().(time.Time).UTC().Format(time.RFC3339Nano)
	case durationType:
		return durationText(value.Interface().(time.Duration))
	case bytesType:
		return base64.StdEncoding.EncodeToString(value.Bytes())
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		return encode(value.Elem())
	case reflect.Struct:
		members := map[string]any{}
		for at := range value.NumField() {
			if field := value.Field(at); isSet(field) {
				members[jsonName(value.Type().Field(at))] = encode(field)
			}
		}
		return members
	case reflect.Slice:
		elements := make([]any, value.Len())
		for at := range elements {
			elements[at] = encode(value.Index(at))
		}
		return elements
	case reflect.Map:
		members := map[string]any{}
		for entries := value.MapRange(); entries.Next(); {
			members[fmt.Sprint(entries.Key())] = encode(entries.Value())
		}
		return members
	case reflect.Float32, reflect.Float64:
		return encodeFloat(value)
	case reflect.String:
		if value.Type() != stringType && digits.MatchString(value.String()) {
			return json.Number(value.String())
		}
		return value.String()
	}
	return value.Interface()
}

func encodeFloat(value reflect.Value) any {
	number := value.Float()
	switch {
	case math.IsNaN(number):
		return "NaN"
	case math.IsInf(number, 1):
		return "Infinity"
	case math.IsInf(number, -1):
		return "-Infinity"
	}
	return value.Interface()
}

// isSet is whether a field must be sent: not if it is zero. A field for which absent and zero
// differ is a pointer.
func isSet(field reflect.Value) bool {
	switch field.Kind() {
	case reflect.Slice:
		// An optional field of bytes may be empty. An empty list is the same as an absent one.
		return field.Len() > 0 || (field.Type() == bytesType && !field.IsNil())
	case reflect.Map:
		return field.Len() > 0
	case reflect.Float32, reflect.Float64:
		return field.Float() != 0 || math.Signbit(field.Float()) // -0 is not zero in protobuf, so it must be sent.
	}
	return !field.IsZero()
}

func jsonName(field reflect.StructField) string {
	return strings.TrimSuffix(field.Tag.Get("json"), ",omitempty")
}

func durationText(duration time.Duration) string {
	sign, nanos := "", uint64(duration)
	if duration < 0 {
		sign, nanos = "-", -nanos
	}
	return fmt.Sprintf("%s%d.%09ds", sign, nanos/1e9, nanos%1e9)
}

func unmarshal(body []byte, answer any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("the answer is no JSON: %w", err)
	}
	return decode(value, reflect.ValueOf(answer).Elem())
}

func decode(value any, target reflect.Value) error {
	if target.Kind() == reflect.Pointer {
		if value == nil {
			return nil
		}
		target.Set(reflect.New(target.Type().Elem()))
		return decode(value, target.Elem())
	}
	switch target.Type() {
	case timeType:
		at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(value))
		target.Set(reflect.ValueOf(at))
		return err
	case durationType:
		duration, err := time.ParseDuration(fmt.Sprint(value))
		target.SetInt(int64(duration))
		return err
	case bytesType:
		data, err := base64.StdEncoding.DecodeString(fmt.Sprint(value))
		target.SetBytes(data)
		return err
	}
	switch given := value.(type) {
	case map[string]any:
		return decodeObject(given, target)
	case []any:
		return decodeList(given, target)
	case nil:
		return nil
	}
	return decodeScalar(value, target)
}

func decodeObject(members map[string]any, target reflect.Value) error {
	switch target.Kind() {
	case reflect.Interface:
		object := map[string]any{}
		err := decodeObject(members, reflect.ValueOf(&object).Elem())
		target.Set(reflect.ValueOf(object))
		return err
	case reflect.Map:
		target.Set(reflect.MakeMapWithSize(target.Type(), len(members)))
		for name, member := range members {
			key, element := reflect.New(target.Type().Key()).Elem(), reflect.New(target.Type().Elem()).Elem()
			if err := errors.Join(decodeScalar(name, key), decode(member, element)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			target.SetMapIndex(key, element)
		}
		return nil
	case reflect.Struct:
		for at := range target.NumField() {
			name := jsonName(target.Type().Field(at))
			if member, ok := members[name]; ok {
				if err := decode(member, target.Field(at)); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
		return nil
	}
	return fmt.Errorf("an object in the answer where %s was expected", target.Type())
}

func decodeList(elements []any, target reflect.Value) error {
	if target.Kind() == reflect.Interface {
		list := []any{}
		err := decodeList(elements, reflect.ValueOf(&list).Elem())
		target.Set(reflect.ValueOf(list))
		return err
	}
	if target.Kind() != reflect.Slice {
		return fmt.Errorf("a list in the answer where %s was expected", target.Type())
	}
	target.Set(reflect.MakeSlice(target.Type(), len(elements), len(elements)))
	for at, element := range elements {
		if err := decode(element, target.Index(at)); err != nil {
			return fmt.Errorf("[%d]: %w", at, err)
		}
	}
	return nil
}

// decodeScalar reads a scalar in either of its JSON forms: 64-bit integers and some floats are
// strings.
func decodeScalar(value any, target reflect.Value) error {
	text := fmt.Sprint(value)
	switch target.Kind() {
	case reflect.Interface:
		if number, ok := value.(json.Number); ok {
			value, _ = number.Float64()
		}
		target.Set(reflect.ValueOf(value))
		return nil
	case reflect.String:
		target.SetString(text)
		return nil
	case reflect.Bool:
		is, err := strconv.ParseBool(text)
		target.SetBool(is)
		return err
	case reflect.Int32, reflect.Int64:
		number, err := strconv.ParseInt(text, 10, target.Type().Bits())
		target.SetInt(number)
		return err
	case reflect.Uint32, reflect.Uint64:
		number, err := strconv.ParseUint(text, 10, target.Type().Bits())
		target.SetUint(number)
		return err
	case reflect.Float32, reflect.Float64:
		number, err := strconv.ParseFloat(text, target.Type().Bits())
		target.SetFloat(number)
		return err
	}
	return fmt.Errorf("%q in the answer where %s was expected", text, target.Type())
}
