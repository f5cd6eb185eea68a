/**
 * A gateway that fails in ways that make clients retry or give up. The first segment of the path
 * selects the failure.
 */
import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import { type WebSocket, WebSocketServer } from "ws";

interface Failure {
  /** How many calls of an endpoint fail before one succeeds. */
  readonly times: number;
  readonly fail: (response: ServerResponse) => void;
}

const BUSY = { Id: "probe", Code: 503, Detail: "too much to do", Status: "Service Unavailable" };

function answer(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** The gateway's refusal by a limit of calls. */
const USED_UP = { Id: "gateway", Code: 429, Detail: "Limit ci allows 1 call a second", Status: "Too Many Requests" };

const MIB = 1024 * 1024;

const FAILURES: Readonly<Record<string, Failure>> = {
  busy: { times: 2, fail: (response) => answer(response, 503, BUSY) },
  limited: { times: 1, fail: (response) => answer(response, 429, { ...BUSY, Code: 429 }, { "retry-after": "1" }) },
  "used-up": { times: 1, fail: (response) => answer(response, 429, USED_UP, { "retry-after": "1" }) },
  "used-up-for-long": {
    times: Infinity,
    fail: (response) => answer(response, 429, USED_UP, { "retry-after": "3600" }),
  },
  broken: { times: 1, fail: (response) => void response.destroy() },
  "busy-for-long": { times: Infinity, fail: (response) => answer(response, 503, BUSY, { "retry-after": "3600" }) },
  wrong: { times: Infinity, fail: (response) => answer(response, 400, { ...BUSY, Code: 400 }) },
  "no-portico": {
    times: Infinity,
    fail: (response) => void response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad Gateway</h1>"),
  },
  "no-content": { times: Infinity, fail: (response) => void response.writeHead(204).end() },
  "reset-content": {
    times: Infinity,
    fail: (response) => void response.writeHead(205, { "content-type": "application/json", "content-length": 0 }).end(),
  },
  elsewhere: {
    times: Infinity,
    fail: (response) => void response.writeHead(307, { location: "/busy/probe/Tell" }).end(),
  },
  mute: { times: Infinity, fail: () => {} },
  silent: {
    times: Infinity,
    fail: (response) => {
      response.writeHead(200, { "content-type": "application/x-ndjson" }).write("\n{}\n");
    },
  },
  endless: {
    times: Infinity,
    fail: (response) => {
      response.writeHead(200, { "content-type": "application/x-ndjson" });
      const chunk = "x".repeat(MIB);
      const write = (error?: Error | null): void => {
        if (!error && !response.destroyed) response.write(chunk, write);
      };
      response.write('{"padding":"', write);
    },
  },
  cut: {
    times: Infinity,
    fail: (response) => {
      response.writeHead(200, { "content-type": "application/x-ndjson" });
      response.write('\n{}\n\n{}\n{"error":', () => response.destroy());
    },
  },
};

/** What a WebSocket does after it is open. It sends neither pings nor pongs. */
const SOCKETS: Readonly<Record<string, (socket: WebSocket, sent: () => void) => void>> = {
  silent: () => {},
  echo: (socket) => void socket.on("message", (frame, isBinary) => socket.send(frame, { binary: isBinary })),
  flood(socket, sent) {
    const frame = JSON.stringify({ padding: "x".repeat(MIB) });
    const send = (): void => {
      socket.send(frame, (error) => {
        if (error) return;
        sent();
        send();
      });
    };
    socket.once("message", send);
  },
  "looks-like-an-error": (socket) => {
    socket.once("message", () => {
      socket.send(JSON.stringify({ ...BUSY, padding: "no error" }));
      socket.once("message", end);
    });
    const end = (): void => {
      socket.send(JSON.stringify({ ...BUSY, Id: "first" }));
      socket.send(JSON.stringify({ number: "2" }));
      socket.send(JSON.stringify({ ...BUSY, Id: "last" }));
      socket.close(4503, BUSY.Detail);
    };
  },
};

export interface FaultyGateway {
  readonly url: string;
  /** The number of calls of an endpoint, such as `/busy/probe/Tell`. */
  readonly calls: (path: string) => number;
  /** The number of messages of 1 MiB that were sent to clients that do not read them. */
  readonly flooded: () => number;
  /** Whether a WebSocket is open. */
  readonly isOpen: () => boolean;
}

/**
 * The maximum number of messages of 1 MiB that may be sent to a client that does not read them and
 * limits what it stores. This is the client's limit plus the maximum in the operating system's
 * buffers, which differs between machines.
 */
export function maxFlooded(): number {
  const largest = (kind: string): number => {
    const file = `/proc/sys/net/ipv4/tcp_${kind}`;
    return existsSync(file) ? Number(readFileSync(file, "utf8").trim().split(/\s+/)[2]) : 0;
  };
  return 64 + (largest("rmem") + largest("wmem")) / MIB;
}

export async function openFaultyGateway(t: Test): Promise<FaultyGateway> {
  const calls = new Map<string, number>();
  const server = createServer((request: IncomingMessage, response) => {
    const path = request.url ?? "";
    const { times, fail } = FAILURES[path.split("/")[1] ?? ""] ?? { times: 0, fail: () => {} };
    const before = calls.get(path) ?? 0;
    calls.set(path, before + 1);
    request.resume().on("end", () => (before < times ? fail(response) : answer(response, 200, {})));
  });
  let flooded = 0;
  const sockets = new WebSocketServer({ noServer: true, autoPong: false });
  server.on("upgrade", (request, connection, head) => {
    const open = SOCKETS[request.url?.split("/")[1] ?? ""];
    sockets.handleUpgrade(request, connection, head, (socket) => {
      socket.on("error", () => {});
      open?.(socket, () => flooded++);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close().closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: (path) => calls.get(path) ?? 0,
    flooded: () => flooded,
    isOpen: () => [...sockets.clients].some(({ readyState, OPEN }) => readyState === OPEN),
  };
}
