/** A door that fails in the ways that make clients try again. What happens is named by the first segment of the path. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";

interface Failure {
  /** How many calls of an endpoint fail before one is answered. */
  readonly times: number;
  readonly fail: (response: ServerResponse) => void;
}

const BUSY = { Id: "probe", Code: 503, Detail: "too much to do", Status: "Service Unavailable" };

function answer(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

const FAILURES: Readonly<Record<string, Failure>> = {
  busy: { times: 2, fail: (response) => answer(response, 503, BUSY) },
  limited: { times: 1, fail: (response) => answer(response, 429, { ...BUSY, Code: 429 }, { "retry-after": "1" }) },
  broken: { times: 1, fail: (response) => void response.destroy() },
  "busy-for-long": { times: Infinity, fail: (response) => answer(response, 503, BUSY, { "retry-after": "3600" }) },
  wrong: { times: Infinity, fail: (response) => answer(response, 400, { ...BUSY, Code: 400 }) },
  "no-portico": {
    times: Infinity,
    fail: (response) => void response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad Gateway</h1>"),
  },
  elsewhere: {
    times: Infinity,
    fail: (response) => void response.writeHead(307, { location: "/busy/probe/Tell" }).end(),
  },
  cut: {
    times: Infinity,
    fail: (response) => {
      response.writeHead(200, { "content-type": "application/x-ndjson" });
      response.write('\n{}\n\n{}\n{"error":', () => response.destroy());
    },
  },
};

export interface FaultyDoor {
  readonly url: string;
  /** How often an endpoint was called, such as `/busy/probe/Tell`. */
  readonly calls: (path: string) => number;
}

export async function openFaultyDoor(t: Test): Promise<FaultyDoor> {
  const calls = new Map<string, number>();
  const server = createServer((request: IncomingMessage, response) => {
    const path = request.url ?? "";
    const { times, fail } = FAILURES[path.split("/")[1] ?? ""] ?? { times: 0, fail: () => {} };
    const before = calls.get(path) ?? 0;
    calls.set(path, before + 1);
    request.resume().on("end", () => (before < times ? fail(response) : answer(response, 200, {})));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void server.close().closeAllConnections());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: (path) => calls.get(path) ?? 0,
  };
}
