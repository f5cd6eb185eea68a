// A TypeScript client takes its token from a function, and asks for another one after a 401.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { PorticoClient } from "../../src/client/client.js";
import { LIMITS } from "../../src/client/lines.js";
import type { CallOptions, PorticoOptions, TokenFunction } from "../../src/client/options.js";

interface Probe {
  call(request?: object, options?: CallOptions): Promise<unknown>;
  count(): AsyncGenerator<unknown>;
}

class Client extends PorticoClient {
  readonly probe: Probe = this.bind("probe", {
    call: { path: "/probe/Call", shape: "unary" },
    count: { path: "/probe/Count", shape: "server" },
  });
}

/** The tokens of the requests, with their paths. */
const seen: string[] = [];
/** The response to a call whose token is not this one is 401. */
let valid = "second";
/** Failures before the first response, as the gateway's or as the service's. */
let busy: { readonly Id: string; left: number; readonly after?: string } = { Id: "gateway", left: 0 };

const server = createServer((request, response) => {
  const token = request.headers.authorization?.slice("Bearer ".length) ?? "none";
  seen.push(`${request.url} ${token}`);
  const send = (status: number, body: object, headers = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(`${JSON.stringify(body)}\n`);
  request.resume().on("end", () => {
    if (token !== valid) return send(401, { Id: "probe", Code: 401, Detail: "Unauthorized", Status: "Unauthorized" });
    if (busy.left-- <= 0) return send(200, {});
    const after = { "retry-after": busy.after ?? "0" };
    return send(503, { Id: busy.Id, Code: 503, Detail: "too much", Status: "Service Unavailable" }, after);
  });
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
t.teardown(() => void server.close().closeAllConnections());
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const before = { ...LIMITS };
t.afterEach(() => {
  Object.assign(LIMITS, before);
  seen.length = 0;
  valid = "second";
});

const probe = (token: PorticoOptions["token"]) => new Client({ url, token }).probe;

/** Gives the tokens in order, and records what it was asked with. */
function giving(...tokens: (string | undefined)[]) {
  const hints: unknown[] = [];
  const give: TokenFunction = (hint) => {
    hints.push(hint);
    return tokens.shift();
  };
  return { give, hints };
}

t.test("a token that is refused is renewed once, and the call is repeated once", async (t) => {
  const { give, hints } = giving("first", "second");
  const { call } = probe(give);
  t.same(await call(), {});
  t.same(await call(), {});
  t.same(hints, [{ refused: undefined }, { refused: "first" }]);
  t.same(seen, ["/v1/probe/Call first", "/v1/probe/Call second", "/v1/probe/Call second"]);
});

t.test("a stream is opened again with the new token", async (t) => {
  const stream = probe(async ({ refused }) => (refused === undefined ? "first" : "second")).count();
  t.same(await stream.next(), { done: false, value: {} });
  await stream.return(undefined);
});

t.test("a second 401, or the same token again, is the error of the call", async (t) => {
  for (const tokens of [
    ["first", "third", "fourth"],
    ["first", "first"],
    ["first", undefined],
  ]) {
    const { give, hints } = giving(...tokens);
    await t.rejects(probe(give).call(), {
      name: "PorticoError",
      Code: 401,
      Detail: "Unauthorized",
    } as unknown as Error);
    t.equal(hints.length, 2);
  }
  await t.rejects(probe("first").call(), { Code: 401 } as unknown as Error);
});

t.test("calls at the same time ask the function once", async (t) => {
  const { give, hints } = giving("first", "second");
  const { call } = probe((hint) => new Promise((resolve) => setImmediate(() => resolve(give(hint) as string))));
  await Promise.all([call(), call(), call()]);
  t.same(hints, [{ refused: undefined }, { refused: "first" }]);
});

t.test("a function that gives no token makes calls without one", async (t) => {
  valid = "none";
  t.same(await probe(() => undefined).call(), {});
  t.same(seen, ["/probe/Call none"]);
});

const failing: [title: string, token: TokenFunction, error: object][] = [
  [
    "throws",
    () => {
      throw new Error("no login");
    },
    { Code: 401, Detail: "The token function failed: no login" },
  ],
  [
    "rejects",
    () => Promise.reject(new Error("no login")),
    { Code: 401, Detail: "The token function failed: no login" },
  ],
  ["gives no text", () => 5 as never, { Code: 401, Detail: "The token function gave no text, but number" }],
  ["hangs", () => new Promise(() => {}), { Code: 504, Detail: "The token function gave no token in time" }],
];
for (const [title, token, error] of failing) {
  t.test(`a function that ${title} fails the call, and sends nothing`, async (t) => {
    await t.rejects(probe(token).call({}, { timeout: 100 }), { name: "PorticoError", ...error } as unknown as Error);
    LIMITS.maxTokenMs = 100; // For a stream, which has no deadline.
    await t.rejects(probe(token).count().next(), { name: "PorticoError", ...error } as unknown as Error);
    t.same(seen, []);
  });
}

t.test("the call after a failed one asks again", async (t) => {
  let hangs = true;
  const { call } = probe(() => (hangs ? new Promise(() => {}) : "second"));
  await t.rejects(call({}, { timeout: 50 }), { Code: 504 } as unknown as Error);
  hangs = false;
  t.same(await call(), {});
});

t.test("the caller's signal ends the wait for a token with its reason", async (t) => {
  const reason = new Error("not now");
  const signal = AbortSignal.abort(reason);
  await t.rejects(probe(() => new Promise(() => {})).call({}, { signal }), reason);
});

t.test("a call that the gateway refused before it called a service is retried, whatever its endpoint", async (t) => {
  busy = { Id: "gateway", left: 1 };
  t.same(await probe("second").call(), {});
  t.equal(seen.length, 2);
  const past = new Date(Date.now() - 60_000).toUTCString();
  busy = { Id: "gateway", left: 1, after: past };
  t.same(await probe("second").call(), {}, "Retry-After may be a date");
  const later = new Date(Date.now() + 3_600_000).toUTCString();
  busy = { Id: "gateway", left: 1, after: later };
  await t.rejects(probe("second").call(), { Code: 503 } as unknown as Error, "an hour is too long");
  seen.length = 2;
  busy = { Id: "probe", left: 1 };
  await t.rejects(probe("second").call(), { Code: 503 } as unknown as Error);
  t.equal(seen.length, 3, "the service may have done it");
});
