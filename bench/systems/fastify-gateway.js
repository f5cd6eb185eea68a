// fastify in front of grpc-js, the usual way to write such a gateway by hand.
import fastify from "fastify";
import { connect } from "./contract.js";

const [port, service] = process.argv.slice(2);
const client = connect(`127.0.0.1:${service}`);
const app = fastify({ bodyLimit: 4 * 1024 ** 2 });

app.post(
  "/v1/helloworld/call",
  (request) =>
    new Promise((resolve, reject) => {
      client.Call(request.body, { deadline: Date.now() + 30_000 }, (error, answer) =>
        error ? reject(error) : resolve(answer),
      );
    }),
);

await app.listen({ port: Number(port), host: "127.0.0.1" });
