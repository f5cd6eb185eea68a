/** The gateway's end of a WebSocket and its client, without a gateway between them. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Test } from "tap";
import { type ClientOptions, WebSocket } from "ws";
import type { HttpError } from "../../../gateway/http/errors.js";
import { WebSockets } from "../../../gateway/node/websocket.js";
import { MemoryBudget } from "../../../src/memory/memory-budget.js";

export interface Accepted {
  readonly client: WebSocket;
  /** The gateway's socket. */
  readonly socket: Socket;
  /** Why the client was taken for gone. */
  readonly gone: HttpError[];
}

/** Opens a WebSocket, which is closed when the test ends. */
export async function accepted(t: Test, onMessage: () => void, options: ClientOptions = {}): Promise<Accepted> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, options);
  const [req, socket, head] = (await once(server, "upgrade")) as [IncomingMessage, Socket, Buffer];
  t.teardown(() => {
    client.terminate();
    server.close();
  });
  const gone: HttpError[] = [];
  const session = { open() {}, onMessage, onDrain() {} };
  new WebSockets({ maxBody: 1024 }, new MemoryBudget()).accept(
    { req, socket, head, client: "127.0.0.1" },
    [],
    session,
    (why) => gone.push(why),
  );
  await once(client, "open");
  return { client, socket, gone };
}
