// Loads the contract for the peers written for Node in the way that grpc-js documents: at run time,
// with proto-loader.
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
