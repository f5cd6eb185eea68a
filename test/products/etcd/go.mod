module portico.test/etcd

go 1.26

require (
	go.etcd.io/etcd/api/v3 v3.7.3
	go.etcd.io/etcd/etcdctl/v3 v3.7.3
	go.etcd.io/etcd/server/v3 v3.7.3
	google.golang.org/protobuf v1.36.11
)
