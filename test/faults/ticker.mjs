// An external service without a guard, which streams for ever.
//
//     node test/faults/ticker.mjs 127.0.0.1:0
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const [address] = process.argv.slice(2);
const { ticker } = grpc.loadPackageDefinition(loadSync(fileURLToPath(new URL("ticker.proto", import.meta.url))));
const server = new grpc.Server();
server.addService(ticker.Ticker.service, {
  tick(call) {
    let number = 0;
    const timer = setInterval(() => call.write({ number: ++number }), 20);
    call.on("cancelled", () => clearInterval(timer));
  },
});
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(`listening on ${address.replace(/\d+$/, port)}`);
});
