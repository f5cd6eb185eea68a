// grpc-gateway in front of a gRPC service, both in Go: `gateway <port> <service>` or
// `service <port>`.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "portico/bench/helloworld"
)

type greeter struct{ pb.UnimplementedHelloworldServer }

func (greeter) Call(_ context.Context, request *pb.CallRequest) (*pb.CallResponse, error) {
	greeting := "Hello " + request.GetName()
	return &pb.CallResponse{Message: greeting, Msg: greeting}, nil
}

func (greeter) Stream(request *pb.StreamRequest, stream pb.Helloworld_StreamServer) error {
	greeting := "Hello " + request.GetName()
	for sent := int64(0); sent < request.GetMessages(); sent++ {
		if err := stream.Send(&pb.CallResponse{Message: greeting, Msg: greeting}); err != nil {
			return err
		}
	}
	return nil
}

func serve(port string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pb.RegisterHelloworldServer(server, greeter{})
	return server.Serve(listener)
}

func gateway(port, service string) error {
	mux := runtime.NewServeMux()
	insecure := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if err := pb.RegisterHelloworldHandlerFromEndpoint(context.Background(), mux, "127.0.0.1:"+service, insecure); err != nil {
		return err
	}
	return http.ListenAndServe("127.0.0.1:"+port, mux)
}

func main() {
	switch os.Args[1] {
	case "service":
		log.Fatal(serve(os.Args[2]))
	case "gateway":
		log.Fatal(gateway(os.Args[2], os.Args[3]))
	}
}
