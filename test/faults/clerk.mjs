// A foreign service whose calls wait for a lock, each for 4 ms, also those whose callers have gone: node test/faults/clerk.mjs 127.0.0.1:0
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const [address] = process.argv.slice(2);
const { clerk } = grpc.loadPackageDefinition(loadSync(fileURLToPath(new URL("clerk.proto", import.meta.url))));
const server = new grpc.Server();
let last = Promise.resolve();
server.addService(clerk.Clerk.service, {
  serve(_call, answer) {
    last = last.then(() => sleep(4)).then(() => answer(null, {}));
  },
});
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(`listening on ${address.replace(/\d+$/, port)}`);
});
