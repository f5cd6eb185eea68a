/** The HTTP port with a handler of the test, and a client that writes and reads bytes. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Test } from "tap";
import type { HttpError } from "../../../gateway/http/errors.js";
import type { GatewayResponse, RequestHandler } from "../../../gateway/http/message.js";
import { listen } from "../../../gateway/node/listen.js";
import { loadConfig } from "../../../src/config/config.js";
import { deferred } from "../../support/deferred.js";

/** An open HTTP port, and its limits. */
export type HttpPort = Awaited<ReturnType<typeof listen>>;
export type Limits = Parameters<typeof listen>[2];

export const config = loadConfig({}, {});

export async function open(
  t: Test,
  handler: RequestHandler,
  limits: Partial<Limits> = {},
  host = "127.0.0.1",
): Promise<HttpPort> {
  const gateway = await listen(handler, { host, port: 0 }, { ...config, ...limits });
  t.teardown(() => gateway.close(0));
  return gateway;
}

export function response(body: string, status = 200): GatewayResponse {
  return { status, headers: ["Content-Length", String(body.length)], body, length: body.length };
}

/** Responds with the target, after the body has been read. */
export const echo: RequestHandler = async (request) => {
  if (request.error !== undefined) return response("fault", request.error.status);
  try {
    const body = await request.body();
    return response(`${request.target} ${Buffer.concat(body).length}`);
  } catch (error) {
    return response("refused", (error as HttpError).status);
  }
};

/** A handler whose responses wait for `finish`. */
export function held(): { handler: RequestHandler; finish: () => void; asked: Promise<void> } {
  const { promise: finished, resolve: finish } = deferred();
  const { promise: asked, resolve: told } = deferred();
  const handler: RequestHandler = async () => {
    told();
    await finished;
    return response("finished");
  };
  return { handler, finish, asked };
}

export interface Client {
  readonly socket: Socket;
  /** Resolves when the received text matches the pattern. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with all received text, when the server has closed the connection. */
  rest(): Promise<string>;
}

export async function dial({ address }: HttpPort): Promise<Client> {
  const socket = connect(address.port, "127.0.0.1");
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {}); // A reset counts as an end here.
  // once() is not used, because it rejects at a reset.
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await once(socket, "connect");
  return {
    socket,
    async until(pattern) {
      while (!pattern.test(text)) await once(socket, "data");
      return text;
    },
    async rest() {
      await closed;
      return text;
    },
  };
}

export const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
export const post = (length: number): string => `POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;
export const answersIn = (text: string): number => text.split("HTTP/1.1 ").length - 1;
