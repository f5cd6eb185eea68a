// helloworld on grpc-js, behind the peers written for Node.
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { definition } from "./contract.js";

const server = new Server();
server.addService(definition, {
  Call({ request }, callback) {
    const greeting = `Hello ${request.name}`;
    callback(null, { message: greeting, msg: greeting });
  },
});
server.bindAsync(`127.0.0.1:${process.argv[2]}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
