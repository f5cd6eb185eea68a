// Connect for Node as a proxy: it accepts the Connect protocol (JSON over HTTP/1.1) from callers,
// and calls the service by gRPC.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";

const [port, service, descriptors] = process.argv.slice(2);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(descriptors)));
const contract = registry.getService("helloworld.Helloworld");
const client = createClient(contract, createGrpcTransport({ baseUrl: `http://127.0.0.1:${service}` }));

const routes = (router) => router.service(contract, { call: (request) => client.call(request, { timeoutMs: 30_000 }) });
createServer(connectNodeAdapter({ routes, acceptCompression: [] })).listen(Number(port), "127.0.0.1");
