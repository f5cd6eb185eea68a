// Calls a running gateway with the clients that `portico client --lang go` generated. Run by
// go.outside.ts.
package clients

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/clients/auth"
	"example.com/clients/awkward"
	"example.com/clients/helloworld"
	"example.com/clients/kinds"
	"example.com/clients/probe"
	"example.com/clients/studio"
)

var ctx = context.Background()

func check[T any](t *testing.T, got T, err error, want T) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestCallAndStream(t *testing.T) {
	client := helloworld.New(helloworld.Options{})
	ada := &helloworld.CallResponse{Message: "Hello Ada", Msg: "Hello Ada"}
	answer, err := client.Helloworld.Call(ctx, &helloworld.CallRequest{Name: "Ada"})
	check(t, answer, err, ada)
	count := 0
	for answer, err := range client.Helloworld.Stream(ctx, &helloworld.StreamRequest{Name: "Ada", Messages: 3}) {
		check(t, answer, err, ada)
		count++
	}
	if count != 3 {
		t.Fatalf("%d greetings", count)
	}
	for range client.Helloworld.Stream(ctx, &helloworld.StreamRequest{Name: "Ada", Messages: 10_000}) {
		break // The rest is not read.
	}
}

func TestEveryType(t *testing.T) {
	client := kinds.New(kinds.Options{}).Kinds
	sent := &kinds.Implicit{
		Double: math.Inf(-1), Float: 1.5, Int32: -5, Int64: math.MaxInt64, Uint64: math.MaxUint64, Bool: true,
		String: "\u2028 \"` */", Bytes: []byte{0, 255}, Color: kinds.ColorBlue,
		Nested: &kinds.Implicit{Int64: -1, Color: kinds.ColorRed},
	}
	answer, err := client.Call(ctx, sent)
	sent.Nested.Bytes = []byte{} // The response has every field without presence.
	check(t, answer, err, sent)
	answer, err = client.Call(ctx, &kinds.Implicit{Double: math.NaN(), Float: float32(math.Copysign(0, -1)), Color: "7"})
	if err != nil || !math.IsNaN(answer.Double) || !math.Signbit(float64(answer.Float)) || answer.Color != "7" {
		t.Fatal(answer, err)
	}
	present := &kinds.Optional{Int64: kinds.Ptr(int64(0)), String: kinds.Ptr(""), Bytes: []byte{}, Bool: kinds.Ptr(false), LastColor: kinds.ColorNone}
	optional, err := client.Optional(ctx, present)
	check(t, optional, err, present)
	lists, err := client.Lists(ctx, &kinds.Lists{Int64: []int64{1, -2}, Wrapped: []string{"a"}, Value: []any{nil, map[string]any{"a": 1.5}}})
	if err != nil || lists.Int64[1] != -2 || lists.Wrapped[0] != "a" || lists.Value[1].(map[string]any)["a"] != 1.5 {
		t.Fatal(lists, err)
	}
	maps, err := client.Maps(ctx, &kinds.Maps{Int64: map[int64]int64{-5: 5}, Bool: map[bool]bool{true: false}})
	if err != nil || maps.Int64[-5] != 5 || maps.Bool[true] {
		t.Fatal(maps, err)
	}
	choice, err := client.Choice(ctx, &kinds.Choice{Number: kinds.Ptr(int32(0)), Yes: kinds.Ptr(true)})
	check(t, choice, err, &kinds.Choice{Number: kinds.Ptr(int32(0)), Yes: kinds.Ptr(true)})
	at := time.Date(2026, 1, 31, 12, 0, 0, 123_456_789, time.UTC)
	wellKnown := &kinds.WellKnown{
		Timestamp: &at, Duration: kinds.Ptr(-1500 * time.Millisecond), Mask: kinds.Ptr("a,b"),
		Struct: map[string]any{"a": []any{nil, 1.5}}, List: []any{"a"}, Int64: kinds.Ptr(int64(0)), String: kinds.Ptr(""),
	}
	known, err := client.WellKnown(ctx, wellKnown)
	check(t, known, err, wellKnown)
	wrapped, err := client.Wrapped(ctx, math.MaxInt64)
	check(t, wrapped, err, math.MaxInt64)
}

func TestAwkwardNames(t *testing.T) {
	client := awkward.New(awkward.Options{}).Awkward
	inner := &awkward.EverythingInnerInner{Type: awkward.EverythingInnerInnerTypeClass, Self: math.MinInt64}
	outer := &awkward.EverythingInner{Inner: inner, Inners: []*awkward.EverythingInnerInner{inner}}
	at := time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	sent := &awkward.Everything{
		Class: outer, Def: map[string]*awkward.EverythingInner{"": outer}, Lambda: map[int64][]byte{math.MinInt64: {0}},
		Range: map[bool]awkward.Error_{true: awkward.Error_Mro}, Func: map[uint64]float64{math.MaxUint32: math.Inf(1)},
		Import: []awkward.Error_{awkward.Error_None, "7"}, With: inner, Int: awkward.Ptr(int32(0)), Str: awkward.Ptr(""),
		Bytes: []byte{}, Error: awkward.Ptr(awkward.Error_Unspecified), Int64: math.MaxInt64, Uint64: math.MaxUint64, Id: 1,
		Code: 404, Float: math.MinInt32, Double: 0.5, WrappedDouble: awkward.Ptr(0.0), WrappedUint64: awkward.Ptr(uint64(math.MaxUint64)),
		WrappedBool: awkward.Ptr(false), WrappedString: awkward.Ptr(""), WrappedBytes: []byte{}, WrappedList: []int64{0, -1},
		Datetime: &at, Time: []time.Duration{-1}, Dict: map[string]any{"then": []any{nil, true}}, Any: "text",
		List: []any{1.5, "a"}, Typing: awkward.Ptr("a,bC.d"), Empty: &awkward.Empty{},
		Dataclasses: map[string]any{"@type": "type.googleapis.com/awkward.Class", "class": "x"},
		ABC:         "odd", Send: "a", Close: "b", Then: "c", Constructor: "d", Init: "e", ToJson: "f", X_5: "g", URLPath: "h", Metadata: "i",
	}
	answer, err := client.Call(ctx, sent)
	check(t, answer, err, sent)
	class, err := client.Class(ctx, &awkward.AwkwardClass{Class: "x"})
	check(t, class, err, &awkward.AwkwardClass{Class: "x"})
	deep := &awkward.Type{Interface: &awkward.Type{Package: &awkward.AwkwardClass_{Type: "x"}}}
	kind, err := client.Func(ctx, deep)
	check(t, kind, err, deep)
	_, err = client.Close(ctx, nil)
	check(t, 0, err, 0)
	same, err := client.Constructor(ctx, &awkward.Client_{Client: &awkward.Client_{}})
	check(t, same, err, &awkward.Client_{Client: &awkward.Client_{}})
	for portico, err := range client.Bind(ctx, &awkward.Portico{Socket: &awkward.BidiStream_{Send: awkward.Error_Class}}) {
		check(t, portico, err, &awkward.Portico{Socket: &awkward.BidiStream_{Send: awkward.Error_Class}})
	}
	talk, err := client.Send(ctx)
	check(t, 0, err, 0)
	defer talk.Close()
	check(t, 0, talk.Send(sent), 0)
	answer, err = talk.Recv()
	check(t, answer, err, sent)
	last, err := client.Recv(ctx)
	check(t, 0, err, 0)
	check(t, 0, last.Send(&awkward.Everything{Id: 1}), 0)
	check(t, 0, last.Send(sent), 0)
	answer, err = last.CloseAndRecv()
	check(t, answer, err, sent)
	number, err := client.Int(ctx, math.MinInt64)
	check(t, number, err, math.MinInt64)
	value, err := client.Value(ctx, map[string]any{"a": []any{1.5}})
	check(t, value, err, any(map[string]any{"a": []any{1.5}}))
	moment, err := client.Time(ctx, at)
	check(t, moment, err, at)
	other, err := client.Default.Default(ctx, &awkward.AwkwardClass{Class: "y"})
	check(t, other, err, &awkward.AwkwardClass{Class: "y"})
}

func TestRawBytes(t *testing.T) {
	client := studio.New(studio.Options{}).Studio
	stored, err := client.Store(ctx, &studio.HTTPBody{ContentType: "video/mp4", Data: []byte{1, 2, 3}})
	check(t, stored, err, &studio.Kept{ContentType: "video/mp4", Bytes: 3})
	if _, err := client.Add(ctx, &studio.AddRequest{Title: "Bob", File: []byte{0, 255}}); err != nil {
		t.Fatal(err)
	}
	shown, err := client.Show(ctx, &studio.ShowRequest{Title: "Bob"})
	check(t, shown, err, &studio.HTTPBody{ContentType: "image/png", Data: []byte{0, 255}})
}

func errorOf(t *testing.T, err error) *probe.Error {
	t.Helper()
	var failure *probe.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no *Error", err)
	}
	return failure
}

func TestErrorsAndDeadlines(t *testing.T) {
	client := probe.New(probe.Options{}).Probe
	_, err := client.Fail(ctx, &probe.Failure{Code: 9, Message: "not now", DetailType: "type.googleapis.com/google.rpc.ErrorInfo", DetailValue: []byte("\n\x01A")})
	failure := errorOf(t, err)
	if failure.Id != "probe" || failure.Code != 400 || failure.Detail != "not now" || failure.Status != "Bad Request" {
		t.Fatalf("%+v", failure)
	}
	if failure.Details[0]["reason"] != "A" || failure.RequestID == "" {
		t.Fatalf("%+v", failure)
	}
	late, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, err = client.Hang(late, nil)
	if failure := errorOf(t, err); failure.Code != 504 || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%+v", failure)
	}
	// Portico may notice the end of the deadline first: its response is the same error.
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(504)
		w.Write([]byte(`{"Id":"probe","Code":504,"Detail":"Deadline exceeded","Status":"Gateway Timeout"}`))
	}))
	defer door.Close()
	_, err = probe.New(probe.Options{URL: door.URL}).Probe.Hang(ctx, nil)
	if failure := errorOf(t, err); failure.Detail != "Deadline exceeded" || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%+v", failure)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = client.Hang(cancelled, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	told, err := client.Tell(soon, nil)
	if err != nil || told.TimeLeft <= 0 || told.TimeLeft > 20_000 {
		t.Fatal(told, err)
	}
	for _, err := range helloworld.New(helloworld.Options{Token: "pta_wrong"}).Helloworld.Stream(ctx, nil) {
		var refused *helloworld.Error
		if !errors.As(err, &refused) || refused.Code != 401 {
			t.Fatal(err)
		}
	}
}

func TestRetries(t *testing.T) {
	faulty := func(failure string) *probe.ProbeService {
		return probe.New(probe.Options{URL: os.Getenv("FAULTY_DOOR") + "/" + failure + "/go"}).Probe
	}
	for _, failure := range []string{"busy", "limited", "broken"} {
		if _, err := faulty(failure).Tell(ctx, nil); err != nil {
			t.Fatal(failure, err)
		}
		_, err := faulty(failure).Call(ctx, nil)
		if code := errorOf(t, err).Code; code != 503 && code != 429 {
			t.Fatal(failure, err)
		}
	}
	if _, err := faulty("used-up").Call(ctx, nil); err != nil {
		t.Fatal(err)
	}
	_, err := faulty("used-up-for-long").Call(ctx, nil)
	if errorOf(t, err).RetryAfter != time.Hour {
		t.Fatal(err)
	}
	_, err = faulty("busy-for-long").Tell(ctx, nil)
	if errorOf(t, err).RetryAfter != time.Hour {
		t.Fatal(err)
	}
	_, err = faulty("no-portico").Tell(ctx, nil)
	if !strings.Contains(errorOf(t, err).Detail, "not as Portico does") {
		t.Fatal(err)
	}
	for _, status := range []string{"no-content", "reset-content"} {
		if answer, err := faulty(status).Call(ctx, nil); err != nil || answer == nil {
			t.Fatal(status, answer, err)
		}
	}
	_, err = faulty("elsewhere").Tell(ctx, nil)
	if errorOf(t, err).Code != 307 {
		t.Fatal(err)
	}
	_, err = probe.New(probe.Options{URL: "http://127.0.0.1:1"}).Probe.Call(ctx, nil)
	if failure := errorOf(t, err); !failure.NeverSent || failure.Code != 503 {
		t.Fatal(err)
	}
	messages := 0
	for _, err := range faulty("cut").Count(ctx, nil) {
		if err == nil {
			messages++
		} else if errorOf(t, err).Code != 503 {
			t.Fatal(err)
		}
	}
	if messages != 2 {
		t.Fatalf("%d messages", messages)
	}
}

func TestTokenFunc(t *testing.T) {
	var asked []string
	give := func(_ context.Context, refused string) (string, error) {
		asked = append(asked, refused)
		if refused == "" {
			return "pta_wrong", nil
		}
		return os.Getenv("PORTICO_TOKEN"), nil
	}
	client := probe.New(probe.Options{TokenFunc: give}).Probe
	for range 2 {
		if answer, err := client.Tell(ctx, nil); err != nil || answer.Caller != "admin" {
			t.Fatal(answer, err)
		}
	}
	if !reflect.DeepEqual(asked, []string{"", "pta_wrong"}) {
		t.Fatalf("asked with %q", asked)
	}
	stream, err := studio.New(studio.Options{TokenFunc: give}).Studio.Talk(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stream.Close()
	for _, row := range []struct {
		code    int
		detail  string
		timeout time.Duration
		give    func(context.Context, string) (string, error)
	}{
		{401, "Unauthorized call made to probe:Probe.Tell", time.Minute,
			func(context.Context, string) (string, error) { return "pta_wrong", nil }},
		{401, "TokenFunc failed: no login", time.Minute,
			func(context.Context, string) (string, error) { return "", errors.New("no login") }},
		{504, "TokenFunc gave no token in time", 300 * time.Millisecond,
			func(context.Context, string) (string, error) { select {} }},
	} {
		soon, cancel := context.WithTimeout(ctx, row.timeout)
		_, err := probe.New(probe.Options{TokenFunc: row.give}).Probe.Tell(soon, nil)
		cancel()
		var failure *probe.Error
		if !errors.As(err, &failure) || failure.Code != row.code || failure.Detail != row.detail {
			t.Fatalf("%v instead of %d %s", err, row.code, row.detail)
		}
	}
}

func TestRules(t *testing.T) {
	rules := auth.New(auth.Options{}).Auth.Rules
	rule := &auth.Rule{Id: "accounts", Access: auth.AccessGranted, Scope: "*", Resource: "*:*:*"}
	if _, err := rules.Create(ctx, &auth.CreateRuleRequest{Rule: rule}); err != nil {
		t.Fatal(err)
	}
	if _, err := rules.Delete(ctx, &auth.DeleteRuleRequest{Id: "default"}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PORTICO_TOKEN", "")
	_, err := helloworld.New(helloworld.Options{}).Helloworld.Call(ctx, nil)
	var refused *helloworld.Error
	if !errors.As(err, &refused) || refused.Detail != "Unauthorized call made to helloworld:Helloworld.Call" {
		t.Fatal(err)
	}
}

// answering is a server that always returns the same response, as a proxy in front of Portico may.
func answering(t *testing.T, status int, contentType, body string) helloworld.Options {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return helloworld.Options{URL: server.URL}
}

func TestAnErrorWithoutACodeIsNotPorticos(t *testing.T) {
	for _, body := range []string{`{"Detail":"a proxy's own"}`, `{"Code":0,"Detail":"none"}`, `<html>`, ``} {
		client := helloworld.New(answering(t, 502, "application/json", body))
		_, err := client.Helloworld.Call(ctx, &helloworld.CallRequest{})
		var failure *helloworld.Error
		if !errors.As(err, &failure) || failure.Code != 502 || failure.Status != "Bad Gateway" ||
			!strings.HasSuffix(failure.Detail, "answered 502, but not as Portico does") {
			t.Fatalf("%s: %+v", body, err)
		}
	}
}

func TestALineThatLooksLikeAnErrorButHasNoCodeIsAMessage(t *testing.T) {
	client := helloworld.New(answering(t, 200, "application/x-ndjson", `{"error":{"Id":"none"}}`+"\n"))
	count := 0
	for _, err := range client.Helloworld.Stream(ctx, &helloworld.StreamRequest{Messages: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if count != 1 {
		t.Fatalf("%d messages", count)
	}
}
