// Responses that are not from Portico, arrive too late, or are too large.

import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { type HttpRequest, send } from "../../../cli/http/request.js";
import { interrupted } from "../../../cli/terminal/exit.js";
import { portico } from "../command-line.js";

async function listen(t: Test, listener: RequestListener): Promise<{ server: Server; url: string }> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const request = (parts: Partial<HttpRequest> = {}): HttpRequest => ({
  method: "GET",
  path: "/x",
  timeoutMs: 10_000,
  ...parts,
});

for (const status of [200, 404, 502]) {
  t.test(`reports a server that is not Portico and responds with ${status}`, async (t) => {
    const { url } = await listen(t, (_, response) => response.writeHead(status).end("<h1>Hello</h1>"));
    const { exit, stderr } = await portico(["services", "--url", url]);
    t.equal(exit, 1);
    t.equal(stderr, `The response is not Portico's. Is the address right?\nHTTP ${status}\n`);
  });
}

const SUCCESSES = [
  { status: 201, type: "application/json", body: '{"message":"Hello Ada"}', printed: '{"message":"Hello Ada"}\n' },
  { status: 204, type: undefined, body: undefined, printed: "{}\n" },
  { status: 205, type: "application/json", body: "", printed: "{}\n" },
];
for (const { status, type, body, printed } of SUCCESSES) {
  t.test(`a call succeeds with ${status}, which an option of the service may set`, async (t) => {
    const headers = type === undefined ? {} : { "content-type": type };
    const { url } = await listen(t, (_, response) => response.writeHead(status, headers).end(body));
    const { exit, stdout } = await portico(["call", "helloworld", "Call", "--url", url], {
      env: { PORTICO_TOKEN: "pta_x" },
    });
    t.same({ exit, stdout }, { exit: 0, stdout: printed });
  });
}

t.test("does not follow a redirect, so that the token is sent to no other server", async (t) => {
  let calls = 0;
  const { url } = await listen(t, (_, response) => {
    calls += 1;
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  const { exit } = await portico(["call", "helloworld", "Call", "--url", url], { env: { PORTICO_TOKEN: "pta_x" } });
  t.equal(exit, 1);
  t.equal(calls, 1);
});

t.test("gives up on a server that never responds", async (t) => {
  const { url } = await listen(t, () => {});
  await t.rejects(send(new URL(url), request({ timeoutMs: 50 })), {
    message: `Portico at ${url} did not respond within 0.05 s.`,
  });
});

t.test("gives up on a server that stops in the middle of its response", async (t) => {
  const { url } = await listen(t, (_, response) => response.writeHead(200).write("{"));
  await t.rejects(send(new URL(url), request({ timeoutMs: 50 })), /did not respond within/);
});

t.test("rejects a response of more than 64 MiB", async (t) => {
  const { url } = await listen(t, (_, response) => {
    const chunk = Buffer.alloc(1024 * 1024, " ");
    const more = () => {
      while (response.write(chunk));
    };
    response.on("drain", more);
    more();
  });
  await t.rejects(send(new URL(url), request()), /larger than 64 MiB/);
});

t.test("Ctrl-C ends the wait, with exit code 130", async (t) => {
  const controller = new AbortController();
  const { url } = await listen(t, () => controller.abort());
  await t.rejects(send(new URL(url), request({ signal: controller.signal })), interrupted());
});

t.test("sends the path unchanged, below the path of the base address", async (t) => {
  const { url } = await listen(t, (incoming, response) => response.end(incoming.url));
  t.equal((await send(new URL(`${url}/api/`), request({ path: "/v1/../x" }))).body, "/api/v1/../x");
});
