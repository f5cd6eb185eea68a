// An external service. A lock makes its calls wait for each other, 4 ms each, also when their
// callers have left.
//
//     node test/faults/clerk.mjs 127.0.0.1:0
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const [address] = process.argv.slice(2);
const { clerk } = grpc.loadPackageDefinition(loadSync(fileURLToPath(new URL("clerk.proto", import.meta.url))));
const server = new grpc.Server();
let last = Promise.resolve();
server.addService(clerk.Clerk.service, {
  serve(_call, respond) {
    last = last.then(() => sleep(4)).then(() => respond(null, {}));
  },
});
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(`listening on ${address.replace(/\d+$/, port)}`);
});
