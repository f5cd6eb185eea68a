// grpc-gateway's own example: its gRPC server, and its gateway in front of it. The test compares
// Portico with the gateway. Both packages are internal ones, so this module has a path below theirs.
//
// It prints the addresses of the server and of the gateway, and writes the descriptors of the
// services to the file that its only argument names. It ends when its input does.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/grpc-ecosystem/grpc-gateway/v2/examples/internal/proto/examplepb"
	"github.com/grpc-ecosystem/grpc-gateway/v2/examples/internal/server"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	ctx := context.Background()
	services := listen()
	go func() { check(server.ServeGRPC(ctx, services)) }()
	writeDescriptors(os.Args[1])

	conn, err := grpc.NewClient(services.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	// As in grpc-gateway's own tests, clients may send metadata.
	mux := runtime.NewServeMux(runtime.WithLegacyHeaderMatching())
	for _, register := range []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{
		examplepb.RegisterEchoServiceHandler,
		examplepb.RegisterStreamServiceHandler,
		examplepb.RegisterABitOfEverythingServiceHandler,
		examplepb.RegisterFlowCombinationHandler,
		examplepb.RegisterResponseBodyServiceHandler,
	} {
		check(register(ctx, mux, conn))
	}
	gateway := listen()
	go func() { check(http.Serve(gateway, mux)) }()

	fmt.Println(services.Addr(), gateway.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func writeDescriptors(path string) {
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for index := range file.Imports().Len() {
			add(file.Imports().Get(index).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
	}
	for _, file := range []protoreflect.FileDescriptor{
		examplepb.File_examples_internal_proto_examplepb_echo_service_proto,
		examplepb.File_examples_internal_proto_examplepb_stream_proto,
		examplepb.File_examples_internal_proto_examplepb_a_bit_of_everything_proto,
		examplepb.File_examples_internal_proto_examplepb_flow_combination_proto,
		examplepb.File_examples_internal_proto_examplepb_response_body_service_proto,
	} {
		add(file)
	}
	bytes, err := proto.Marshal(set)
	check(err)
	check(os.WriteFile(path, bytes, 0o600))
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	return listener
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
