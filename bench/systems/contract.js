// The contract as the peers written for Node load it, the way grpc-js documents: at run time, by proto-loader.
import { credentials, loadPackageDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const file = new URL("../../proto/helloworld/helloworld.proto", import.meta.url).pathname;
const { Helloworld } = loadPackageDefinition(
  loadSync(file, { keepCase: true, longs: String, defaults: true }),
).helloworld;

export const definition = Helloworld.service;

export function connect(address) {
  return new Helloworld(address, credentials.createInsecure(), { "grpc.max_receive_message_length": -1 });
}
