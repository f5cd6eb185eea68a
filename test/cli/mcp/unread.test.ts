// A client of `portico mcp` matches responses by their IDs, so every request gets one: also what
// the gateway refuses unread, and a stream that the gateway ends.
import { PassThrough } from "node:stream";
import t, { type Test } from "tap";
import { linesOf } from "../../../cli/http/request.js";
import { Bridge } from "../../../cli/mcp/bridge.js";
import { run } from "../../../cli/program.js";
import { openDoor } from "../../oauth/browser.js";
import { ioOf } from "../command-line.js";

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const LISTEN = { method: "subscriptions/listen", params: { _meta: META, notifications: { toolsListChanged: true } } };

/** A running `portico mcp` with a key that can be revoked. */
async function agent(t: Test) {
  const door = await openDoor(t);
  const made = await door.auth<{ secret: string; key: { prefix: string } }>("Keys/Create", {
    name: "agent",
    lifetime: "86400s",
  });
  const { io } = ioOf({ env: { PORTICO_URL: door.url, PORTICO_TOKEN: made.secret, HOME: t.testdir() } });
  const stdin = Object.assign(new PassThrough(), { isTTY: false });
  const ended = run(["mcp"], { ...io, stdin });
  t.teardown(async () => {
    stdin.end();
    await ended;
  });
  const lines = linesOf(io.stdout as PassThrough);
  return {
    send: (message: unknown) => void stdin.write(`${JSON.stringify(message)}\n`),
    next: async () => JSON.parse(String((await lines.next()).value)),
    revoke: () => door.auth("Keys/Revoke", { prefix: made.key.prefix }),
  };
}

const request = (id: unknown, more: object) => ({ jsonrpc: "2.0", id, ...more });

t.test("a request whose token was revoked during the session", { timeout: 10_000 }, async (t) => {
  const { send, next, revoke } = await agent(t);
  send(request(1, { method: "ping" }));
  t.strictSame(await next(), { jsonrpc: "2.0", id: 1, result: {} });
  await revoke();
  send(request(2, { method: "ping" }));
  t.match(await next(), { jsonrpc: "2.0", id: 2, error: { message: /was revoked/ } });
});

t.test("a request whose parameters cannot be read", { timeout: 10_000 }, async (t) => {
  const { send, next } = await agent(t);
  send(request("a", { method: "ping", params: [] }));
  t.match(await next(), { id: "a", error: { code: -32602 } });
});

t.test("a batch, which the gateway does not take", { timeout: 10_000 }, async (t) => {
  const { send, next } = await agent(t);
  send([request(1, { method: "ping" })]);
  t.match(await next(), { id: null, error: { code: -32600, message: /one message/ } });
});

t.test("a subscription that the gateway ends with the token", { timeout: 10_000 }, async (t) => {
  const { send, next, revoke } = await agent(t);
  send(request("s", LISTEN));
  t.match(await next(), { method: "notifications/subscriptions/acknowledged" });
  await revoke();
  t.match(await next(), { id: "s", result: { resultType: "complete" } });
});

t.test("a stream that ends without a response, as a proxy may end it", { timeout: 10_000 }, async (t) => {
  const written: string[] = [];
  const lines = async function* () {
    yield 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';
  };
  const bridge = new Bridge({
    send: async () => ({ requestId: undefined, lines: lines() }),
    write: (message) => void written.push(message),
    signal: new AbortController().signal,
  });
  await bridge.receive(JSON.stringify(request(1, { method: "tools/call", params: { name: "feed.Follow" } })));
  await bridge.end();
  t.match(JSON.parse(written[1] ?? ""), { id: 1, error: { code: -32603, message: /without a response/ } });
});
