// etcd, its command line, and its contract, because etcd has no reflection.
package main

import (
	"os"

	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	role := os.Args[1]
	os.Args = os.Args[1:]
	switch role {
	case "etcd":
		etcdmain.Main(os.Args)
	case "etcdctl":
		ctlv3.MustStart()
	case "descriptors":
		printDescriptors()
	default:
		panic("etcd, etcdctl or descriptors expected, got " + role)
	}
}
