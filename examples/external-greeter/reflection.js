// A minimal gRPC server reflection: it lists the services, and responds to every other question
// with all files.
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const PROTO = fileURLToPath(new URL("../../proto/grpc/reflection/v1/reflection.proto", import.meta.url));

/**
 * Adds reflection to a server. `services` are the full names of its services, and `descriptorSet`
 * is a serialized google.protobuf.FileDescriptorSet.
 */
export function addReflection(server, services, descriptorSet) {
  const { ServerReflection } = grpc.loadPackageDefinition(loadSync(PROTO, { oneofs: true })).grpc.reflection.v1;
  const service = services.map((name) => ({ name }));
  const fileDescriptorProto = [...filesOf(descriptorSet)];
  server.addService(ServerReflection.service, {
    serverReflectionInfo(call) {
      call.on("data", ({ messageRequest }) => {
        if (messageRequest === "listServices") call.write({ listServicesResponse: { service } });
        else call.write({ fileDescriptorResponse: { fileDescriptorProto } });
      });
      call.on("end", () => call.end());
    },
  });
}

/**
 * The bytes of each file. A file is stored as field 1: a tag byte, a varint length, and the file's
 * bytes.
 */
function* filesOf(set) {
  for (let at = 0; at < set.length; ) {
    let length = 0;
    let shift = 0;
    do {
      at++;
      length |= (set[at] & 127) << shift;
      shift += 7;
    } while (set[at] > 127);
    at++;
    yield set.subarray(at, at + length);
    at += length;
  }
}
