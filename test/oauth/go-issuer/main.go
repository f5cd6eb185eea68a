// An issuer on a port of this machine, which the library's own example has the pages and people of.
// Prints its URL. The argument is where it sends people back to.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	issuer := fmt.Sprintf("http://%s/", listener.Addr())
	storage.RegisterClients(storage.WebClient("portico", "secret", os.Args[1]))
	users := storage.NewUserStore(issuer)
	handler := exampleop.SetupServer(issuer, storage.NewStorage(users), nil, false)
	fmt.Println(issuer)
	panic(http.Serve(listener, handler))
}
