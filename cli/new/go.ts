/** The files of a new service in Go, as text. */
import { filled, joined, protoOf } from "./proto.js";

/** @returns texts by path. */
export function goFilesOf(name: string): ReadonlyMap<string, string> {
  const { json, readme } = joined(name);
  return new Map([
    [`proto/${name}.proto`, protoOf(name, `\noption go_package = "example.com/${name}/gen";\n`)],
    ["service.go", filled(SERVICE, name)],
    ["service_test.go", filled(TESTS, name)],
    ["main.go", filled(MAIN, name)],
    ["go.mod", filled(MODULE, name)],
    ["buf.yaml", "version: v2\nmodules:\n  - path: proto\n"],
    ["buf.gen.yaml", GENERATE],
    ["portico.json", json],
    [".gitignore", `/gen/\n/${name}\n.portico/\n`],
    ["README.md", filled(README, name) + readme],
  ]);
}

/** The versions with which the service was tried. */
const MODULE = `module example.com/{{name}}

go 1.25.0

require (
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)
`;

const GENERATE = `version: v2
plugins:
  - local: [go, run, google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12]
    out: gen
    opt: paths=source_relative
  - local: [go, run, google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0]
    out: gen
    opt: paths=source_relative
`;

const SERVICE = `package main

import (
	"context"
	"time"

	"example.com/{{name}}/gen"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// service has one method for each endpoint in proto/{{name}}.proto.
type service struct {
	gen.Unimplemented{{Service}}Server
}

// accountOf returns the account that calls; empty for a caller who is not logged in.
func accountOf(ctx context.Context) string {
	if values := metadata.ValueFromIncomingContext(ctx, "x-portico-account"); len(values) > 0 {
		return values[0]
	}
	return ""
}

// greet is what both endpoints respond. The message of InvalidArgument begins with the name of the
// field. Callers see it.
func greet(ctx context.Context, request *gen.CallRequest) (*gen.CallResponse, error) {
	if request.GetName() == "" {
		return nil, status.Error(codes.InvalidArgument, "name: must not be empty")
	}
	return &gen.CallResponse{Message: "Hello " + request.GetName(), Account: accountOf(ctx)}, nil
}

// Call passes ctx on: calls to other services and to databases that get it end with the deadline of
// this call.
func (service) Call(ctx context.Context, request *gen.CallRequest) (*gen.CallResponse, error) {
	return greet(ctx, request)
}

func (service) Repeat(request *gen.CallRequest, stream grpc.ServerStreamingServer[gen.CallResponse]) error {
	ctx := stream.Context()
	for {
		response, err := greet(ctx, request)
		if err != nil {
			return err
		}
		if err := stream.Send(response); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		// The caller has gone, or the deadline has passed.
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}
`;

const MAIN = `package main

//go:generate buf generate

import (
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/{{name}}/gen"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
)

// newServer makes the server. Portico reads the contract by reflection.
func newServer() *grpc.Server {
	server := grpc.NewServer()
	gen.Register{{Service}}Server(server, service{})
	reflection.Register(server)
	return server
}

func main() {
	address := "127.0.0.1:9000"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	server := newServer()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-stop
		// Calls in flight have ten seconds to end.
		time.AfterFunc(10*time.Second, server.Stop)
		server.GracefulStop()
	}()
	fmt.Printf("listening on port %d\\n", listener.Addr().(*net.TCPAddr).Port)
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}
`;

const TESTS = `package main

import (
	"context"
	"net"
	"testing"
	"time"

	"example.com/{{name}}/gen"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// open starts a server, and returns a client of it.
func open(t *testing.T) gen.{{Service}}Client {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer()
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return gen.New{{Service}}Client(connection)
}

func TestGreetsANameAndKnowsTheCaller(t *testing.T) {
	// Portico sends this metadata, and lets no caller set it.
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-portico-account", "ada")
	response, err := open(t).Call(ctx, &gen.CallRequest{Name: "Ada"})
	if err != nil || response.GetMessage() != "Hello Ada" || response.GetAccount() != "ada" {
		t.Fatal(response, err)
	}
}

func TestRefusesAnEmptyName(t *testing.T) {
	_, err := open(t).Call(t.Context(), &gen.CallRequest{})
	if status.Code(err) != codes.InvalidArgument || status.Convert(err).Message() != "name: must not be empty" {
		t.Fatal(err)
	}
}

func TestAStreamEndsAtTheDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	stream, err := open(t).Repeat(ctx, &gen.CallRequest{Name: "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	if response, err := stream.Recv(); err != nil || response.GetMessage() != "Hello Ada" {
		t.Fatal(response, err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.DeadlineExceeded {
		t.Fatal(err)
	}
}
`;

const README = `# {{name}}

A service of Portico in Go: gRPC inside, called as JSON from outside. It needs Go 1.25 and [buf](https://buf.build/docs/cli/installation/).

    go generate && go mod tidy
    go run .

In another terminal:

    portico dev        # a Portico, which finds the service by portico.json

    $ curl 'http://127.0.0.1:8080/{{name}}?name=Ada'
    {"message":"Hello Ada","account":""}

| file | what it is |
|---|---|
| \`proto/{{name}}.proto\` | what the service offers |
| \`service.go\` | what it does |
| \`service_test.go\` | its tests: \`go test ./...\` |
| \`main.go\` | starts it |
| \`gen/\` | types, written by \`go generate\`; not in git |
| \`portico.json\` | where \`portico dev\` finds it |

After a change, start it again. Portico reads the new contract by itself.

`;
