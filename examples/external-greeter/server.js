// A gRPC service that is not written for Portico.
//
//     node examples/external-greeter/server.js 127.0.0.1:9000
//         [greeter.binpb [certificate.pem key.pem [authority.pem]]]
//
// With a descriptor set (`buf build examples/external-greeter -o greeter.binpb`) it also has server
// reflection. With a certificate and a key it uses TLS. With the certificate of an authority it
// requires client certificates.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { addReflection } from "./reflection.js";

const [address = "127.0.0.1:9000", descriptors, ...certificates] = process.argv.slice(2);
const { foreign } = grpc.loadPackageDefinition(loadSync(fileURLToPath(new URL("greeter.proto", import.meta.url))));

const server = new grpc.Server();
server.addService(foreign.Greeter.service, {
  greet: ({ request }, callback) => callback(null, { greeting: `Greetings ${request.firstName}` }),
});
if (descriptors) addReflection(server, ["foreign.Greeter"], readFileSync(descriptors));
const [cert_chain, private_key, authority = null] = certificates.map((file) => readFileSync(file));
const credentials = cert_chain
  ? grpc.ServerCredentials.createSsl(authority, [{ cert_chain, private_key }], authority !== null)
  : grpc.ServerCredentials.createInsecure();
server.bindAsync(address, credentials, (error, port) => {
  if (error) throw error;
  console.log(`listening on ${address.replace(/\d+$/, port)}`);
});
