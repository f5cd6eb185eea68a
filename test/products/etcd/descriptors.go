package main

import (
	"os"
	"path"

	_ "go.etcd.io/etcd/api/v3/etcdserverpb"
	_ "go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb"
	_ "go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// printDescriptors prints etcd's contract as a google.protobuf.FileDescriptorSet.
func printDescriptors() {
	set := &descriptorpb.FileDescriptorSet{}
	added := map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if added[file.Path()] {
			return
		}
		added[file.Path()] = true
		written := protodesc.ToFileDescriptorProto(file)
		for i := range written.Dependency {
			imported := file.Imports().Get(i).FileDescriptor
			// etcd's files are registered as rpc.proto and imported as etcd/api/etcdserverpb/rpc.proto.
			if imported.IsPlaceholder() {
				found, err := protoregistry.GlobalFiles.FindFileByPath(path.Base(imported.Path()))
				if err != nil {
					panic(err)
				}
				imported = found
				written.Dependency[i] = found.Path()
			}
			add(imported)
		}
		set.File = append(set.File, written)
	}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if file.Services().Len() > 0 {
			add(file)
		}
		return true
	})
	bytes, err := proto.Marshal(set)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(bytes)
}
