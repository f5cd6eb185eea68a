// Calls each path of the test server with net/http, and prints one line for each result. Over
// HTTP/2 if an argument says so.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(len(os.Args) == 2)
	protocols.SetUnencryptedHTTP2(len(os.Args) > 2)
	client := &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{ExpectContinueTimeout: time.Minute, MaxConnsPerHost: 1, Protocols: protocols},
	}
	call := func(name, method, path, body string, expects bool) {
		request, err := http.NewRequest(method, os.Args[1]+path, strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		if expects {
			request.Header.Set("Expect", "100-continue")
		}
		if name == "chunks" {
			request.ContentLength = -1
		}
		response, err := client.Do(request)
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		response.Body.Close()
		fmt.Printf("%s %d %s\n", name, response.StatusCode, shown(text))
	}
	call("hello", "GET", "/hello", "", false)
	call("length", "POST", "/length", strings.Repeat("x", 3<<20), false)
	call("chunks", "POST", "/length", strings.Repeat("x", 1<<20), false)
	call("stream", "GET", "/stream", "", false)
	call("continue", "POST", "/length", "hello", true)
	call("missing", "GET", "/missing", "", false)
	call("head", "HEAD", "/hello", "", false)
	call("again", "GET", "/hello", "", false)
	call("large", "POST", "/length", strings.Repeat("x", 5<<20), true)
}

func shown(text []byte) string {
	if len(text) > 100 {
		return fmt.Sprintf("%d bytes", len(text))
	}
	return string(text)
}
