/**
 * A process of silence.test.ts. A client sends a server a token with a character that no header may
 * have, and reads the response.
 */
import { once } from "node:events";
import { type ClientHttp2Stream, connect } from "node:http2";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { serveGrpc } from "../../../src/rpc/grpc-js/server.js";
import type { Context } from "../../../src/rpc/service.js";
import { rawService } from "../raw-service.js";
import { dispatcherOf, LIMITS } from "../serve.js";

const TOKEN = "Bearer pta_s\u00e9cret";
const path = "/raw.Raw/One";
const one = (request: Buffer, { metadata }: Context): Buffer => {
  process.stdout.write(`served ${JSON.stringify(metadata)}\n`);
  return request;
};
const server = await serveGrpc(dispatcherOf([rawService({ one })]), { host: "127.0.0.1", port: 0 }, LIMITS);

const session = connect(`http://127.0.0.1:${server.address.port}`);
const call: ClientHttp2Stream = session.request({
  ...{ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" },
  authorization: TOKEN,
});
call.resume().end(Buffer.alloc(5));
await once(call, "close");
session.close();

const channel = new GrpcChannel(server.address);
const message = await new Promise((resolve) => {
  const listener = { onMessage() {}, onEnd: ({ message }: { message: string }) => resolve(message) };
  channel.open({ path, metadata: [["authorization", TOKEN]], deadlineMonotonicMs: undefined }, listener);
});
process.stdout.write(`refused ${message}\n`);
channel.close();
await server.close(0);
