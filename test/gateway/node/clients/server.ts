/**
 * The port with a handler that has a response of each kind, and the count of connections that its
 * clients open.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { Test } from "tap";
import type { BodySink, BodyStream } from "../../../../gateway/http/body.js";
import type { HttpError } from "../../../../gateway/http/errors.js";
import type { GatewayResponse, RequestHandler } from "../../../../gateway/http/message.js";
import type { Certified } from "../../../http2/certificates.js";
import { open, response } from "../dial.js";

const STREAMED_CHUNKS = 1_000;
const CHUNK = "piece of a stream\n";
export const STREAMED_BYTES = STREAMED_CHUNKS * CHUNK.length;

/** Calls of `/together` that wait for each other. */
const TOGETHER = 50;

/** A stream of many chunks, a few in each turn. */
function stream(): GatewayResponse {
  let left = STREAMED_CHUNKS;
  let sink: BodySink;
  const write = (): void => {
    for (let count = 0; left > 0 && count < 10; count++) {
      left--;
      if (!sink.write(CHUNK)) return;
    }
    if (left > 0) setImmediate(write);
    else sink.end();
  };
  const body: BodyStream = {
    open(opened) {
      sink = opened;
      write();
    },
    onDrain: write,
  };
  return { status: 200, headers: ["Content-Type", "text/plain"], body, length: 0 };
}

const waiting: (() => void)[] = [];

/** Responds when `TOGETHER` calls have arrived. */
const together = (): Promise<GatewayResponse> =>
  new Promise((resolve) => {
    waiting.push(() => resolve(response("hello")));
    if (waiting.length === TOGETHER) for (const answerOne of waiting.splice(0)) answerOne();
  });

const handler: RequestHandler = async (request) => {
  if (request.error !== undefined) return response("fault", request.error.status);
  if (request.target === "/stream") return stream();
  if (request.target === "/together") return together();
  if (request.target === "/hello") return response("hello");
  if (request.target !== "/length") return response("not found", 404);
  try {
    const chunks = await request.body();
    return response(`${chunks.reduce((sum, { length }) => sum + length, 0)}`);
  } catch (error) {
    return response("refused", (error as HttpError).status);
  }
};

export interface ClientsServer {
  /** As `127.0.0.1:8080`. */
  readonly address: string;
  /** The number of connections accepted since the last call. */
  takeConnections(): number;
}

/** @param tls the certificate, for a port with TLS */
export async function openServer(t: Test, tls?: Certified): Promise<ClientsServer> {
  const { address } = await open(t, handler, { tls });
  let connections = 0;
  const onSocket = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    if (socket.localPort === address.port) connections++;
  };
  subscribe("net.server.socket", onSocket);
  t.teardown(() => unsubscribe("net.server.socket", onSocket));
  const takeConnections = (): number => {
    const taken = connections;
    connections = 0;
    return taken;
  };
  return { address: `127.0.0.1:${address.port}`, takeConnections };
}
