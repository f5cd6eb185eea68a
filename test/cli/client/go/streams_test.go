// Streams that a client sends, and the limits of streams. Inside the package of a client that
// `portico client --lang go` generated, so that the maximum silence can be shortened. Run by
// go.outside.ts.
package feed

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

var ctx = context.Background()

func fail(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func errorOf(t *testing.T, err error) *Error {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no *Error", err)
	}
	return failure
}

func TestClientStream(t *testing.T) {
	stream, err := New(Options{}).Feed.Collect(ctx)
	fail(t, err)
	for number := range int64(3) {
		fail(t, stream.Send(&Tick{Number: number}))
	}
	sum, err := stream.CloseAndRecv()
	fail(t, err)
	if sum.Count != 3 || sum.Total != 3 {
		t.Fatal(sum)
	}
}

func TestBidiStream(t *testing.T) {
	stream, err := New(Options{}).Feed.Chat(ctx)
	fail(t, err)
	defer stream.Close()
	for number := range int64(3) {
		fail(t, stream.Send(&Tick{Number: number}))
		tick, err := stream.Recv()
		fail(t, err)
		if tick.Number != number {
			t.Fatal(tick)
		}
	}
	fail(t, stream.CloseSend())
	if _, err := stream.Recv(); err != io.EOF {
		t.Fatal(err)
	}
	if err := stream.Send(&Tick{}); err != io.EOF {
		t.Fatal(err)
	}
}

// Sends more messages than fit into any buffer, with two goroutines.
func TestBothDirectionsAtOnce(t *testing.T) {
	stream, err := New(Options{}).Feed.Chat(ctx)
	fail(t, err)
	defer stream.Close()
	padding := strings.Repeat("x", 10_000)
	sent := make(chan error, 1)
	go func() {
		for number := range int64(2_000) {
			if err := stream.Send(&Tick{Number: number, Padding: padding}); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.CloseSend()
	}()
	for number := range int64(2_000) {
		if tick, err := stream.Recv(); err != nil || tick.Number != number {
			t.Fatal(number, tick, err)
		}
	}
	fail(t, <-sent)
}

func TestTheServiceSlowsTheSender(t *testing.T) {
	late, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	stream, err := New(Options{}).Feed.Stall(late)
	fail(t, err)
	sent := 0
	for stream.Send(&Tick{Padding: strings.Repeat("x", 64<<10)}) == nil {
		sent++
	}
	if _, err = stream.CloseAndRecv(); errorOf(t, err).Code != 504 || sent > 512 {
		t.Fatal(err, sent)
	}
}

func TestCancel(t *testing.T) {
	cancelled, cancel := context.WithCancel(ctx)
	stream, err := New(Options{}).Feed.Chat(cancelled)
	fail(t, err)
	cancel()
	if _, err := stream.Recv(); !errors.Is(err, context.Canceled) || errorOf(t, err).Code != 499 {
		t.Fatal(err)
	}
	stream, err = New(Options{}).Feed.Chat(ctx)
	fail(t, err)
	fail(t, stream.Close())
	if _, err := stream.Recv(); errorOf(t, err).Code != 499 {
		t.Fatal(err)
	}
}

func TestRefused(t *testing.T) {
	_, err := New(Options{Token: "pta_wrong"}).Feed.Chat(ctx)
	if failure := errorOf(t, err); failure.Code != 401 || failure.RequestID == "" {
		t.Fatal(err)
	}
	_, err = New(Options{URL: "http://127.0.0.1:1"}).Feed.Chat(ctx)
	if failure := errorOf(t, err); failure.Code != 503 || !failure.NeverSent {
		t.Fatal(err)
	}
}

func faulty(failure string) *FeedService {
	return New(Options{URL: os.Getenv("FAULTY_DOOR") + "/" + failure + "/go", Retries: -1}).Feed
}

// count reads a stream until it fails.
func count(t *testing.T, failure string) *Error {
	for _, err := range faulty(failure).Count(ctx, nil) {
		if err != nil {
			return errorOf(t, err)
		}
	}
	t.Fatal("no error")
	return nil
}

func shortSilence(t *testing.T) {
	before := maxSilence
	maxSilence = 300 * time.Millisecond
	t.Cleanup(func() { maxSilence = before })
}

func TestSilence(t *testing.T) {
	shortSilence(t)
	for _, failure := range []string{"mute", "silent"} {
		if err := count(t, failure); err.Code != 503 || !strings.Contains(err.Detail, "silent for 300ms") {
			t.Fatal(failure, err)
		}
	}
	stream, err := faulty("silent").Chat(ctx)
	fail(t, err)
	if _, err := stream.Recv(); errorOf(t, err).Code != 503 || !strings.Contains(err.Error(), "silent for 300ms") {
		t.Fatal(err)
	}
}

func TestMessageWithoutEnd(t *testing.T) {
	if err := count(t, "endless"); err.Code != 503 || !strings.Contains(err.Detail, "more than 64 MiB") {
		t.Fatal(err)
	}
}

// go.outside.ts checks how much the gateway could send in the meantime. A slow reader is no error.
func TestUnread(t *testing.T) {
	shortSilence(t)
	stream, err := faulty("flood").Chat(ctx)
	fail(t, err)
	defer stream.Close()
	fail(t, stream.Send(&Tick{}))
	_, err = stream.Recv()
	fail(t, err)
	time.Sleep(time.Second)
	for range 2 * maxUnread {
		_, err = stream.Recv()
		fail(t, err)
	}
}

func TestAMessageThatLooksLikeAnError(t *testing.T) {
	stream, err := faulty("looks-like-an-error").Chat(ctx)
	fail(t, err)
	defer stream.Close()
	fail(t, stream.Send(&Tick{}))
	if tick, err := stream.Recv(); err != nil || tick.Padding != "no error" {
		t.Fatal(tick, err)
	}
	fail(t, stream.Send(&Tick{}))
	for _, number := range []int64{0, 2} {
		if tick, err := stream.Recv(); err != nil || tick.Number != number {
			t.Fatal(tick, err)
		}
	}
	if _, err := stream.Recv(); errorOf(t, err).Id != "last" || errorOf(t, err).Code != 503 {
		t.Fatal(err)
	}
}
