// How the HTTP port counts requests against limits of calls, in every dialect over real sockets.
import { createHook } from "node:async_hooks";
import { once } from "node:events";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { WebSocket } from "ws";
import type { RefusedRequest } from "../../../gateway/stages/options.js";
import { Code } from "../../../src/errors.js";
import type { Conversation, DialectClient, Heard, OpenCall } from "../../contract/dialect.js";
import { type Act, DETAIL, HEADERS, ScriptedLimits } from "../../rpc/scripted-limits.js";
import { HTTP_VERSIONS, httpClient } from "../../support/http-client.js";
import { until } from "../../support/until.js";
import { ask, login } from "../deployment.js";
import { createRule, deleteRule, dial, open, refused, scene } from "../dialects/json/streams/client.js";
import { send } from "../dialects/mcp/client.js";
import { clientsOf } from "../dialects/rpc/clients.js";

const limits = new ScriptedLimits();
const recorded: RefusedRequest[] = [];
const it = await scene(t, {
  flags: { maxBody: "65536", lease: "60s" },
  bound: true,
  count: limits.count,
  refusals: { record: (one) => recorded.push(one) },
});
const { gateway, handler, logged, metrics } = it;
const clients = clientsOf(gateway.address);
const CALL = { path: "/probe.Probe/Call", message: { text: "a" } };

async function ended(call: OpenCall): Promise<Heard & { readonly end: NonNullable<Heard["end"]> }> {
  await until(() => call.heard().end !== undefined, { what: () => `an end, after ${JSON.stringify(call.heard())}` });
  return call.heard() as Heard & { readonly end: NonNullable<Heard["end"]> };
}

/** Each granted call has been ended once. */
async function released(t: Test): Promise<void> {
  await until(() => limits.open === 0);
  for (const times of limits.ends) t.equal(times, 1, "the call was ended once");
}

for (const client of clients) {
  t.test(client.name, async (t) => {
    const counted = [{ name: "probe:Probe.Call", address: "127.0.0.1", asserted: false }];

    t.test("a call that no limit counts has no headers of limits", async (t) => {
      limits.reset(undefined);
      const { end, head } = await ended(client.open(CALL));
      t.equal(end.code, Code.OK, end.message);
      t.same(limits.counted, counted);
      t.notMatch(Object.keys(head?.fields ?? {}).join(), /ratelimit/);
    });

    for (const act of ["grant", "grant later"] as const) {
      t.test(`a call that a limit counts: ${act}`, async (t) => {
        limits.reset(act);
        const call = client.open(CALL);
        if (act === "grant later") await limits.release();
        const { end, head, messages } = await ended(call);
        t.equal(end.code, Code.OK, end.message);
        t.match(messages, [{ text: "a" }]);
        t.same(limits.counted, counted);
        t.match(head?.fields, HEADERS);
        await released(t);
        t.equal(limits.ends.length, 1);
      });
    }

    for (const act of ["refuse", "refuse later"] as const) {
      t.test(`a call that a limit refuses: ${act}`, async (t) => {
        limits.reset(act);
        const call = client.open(CALL);
        if (act === "refuse later") await limits.release();
        refusedAs(t, await ended(call));
        t.same(limits.counted, counted);
      });
    }

    t.test("a stream that a limit refuses", async (t) => {
      limits.reset("refuse");
      refusedAs(t, await ended(client.open({ path: "/feed.Feed/Count", message: { messages: "3" } })));
    });

    t.test("a stream of responses counts once", async (t) => {
      limits.reset("grant", "refuse");
      const { end, head } = await ended(client.open({ path: "/feed.Feed/Count", message: { messages: "3" } }));
      t.equal(end.code, Code.OK, end.message);
      t.match(head?.fields, HEADERS);
      t.equal(limits.messages, 0);
      t.equal(limits.counted.length, 1);
      await released(t);
    });

    if (client.converse !== undefined) conversations(t, client.name, client.converse);
  });
}

/** Whether a limit refused the whole call, with details and headers. */
function refusedAs(t: Test, { end, head, messages }: Heard & { readonly end: NonNullable<Heard["end"]> }): void {
  t.equal(Code[end.code], "RESOURCE_EXHAUSTED");
  t.equal(end.message, DETAIL);
  t.same(messages, []);
  t.match(end.details.join(), /google\.rpc\.QuotaFailure.*google\.rpc\.RetryInfo/s);
  t.match(head?.fields, { ...HEADERS, "retry-after": "2" });
  t.equal(limits.open, 0);
}

const CHAT = { path: "/feed.Feed/Chat" };

function conversations(t: Test, name: string, converse: NonNullable<DialectClient["converse"]>): void {
  t.test("a two-way stream counts at its opening, and each message of the client", async (t) => {
    limits.reset("grant");
    const call = converse(CHAT);
    await chat(call, 3);
    call.end();
    const { end } = await ended(call);
    t.equal(end.code, Code.OK, end.message);
    t.equal(limits.counted.length, 1);
    t.equal(limits.messages, 3);
    await released(t);
  });

  t.test("a stream of messages counts each of them", async (t) => {
    limits.reset("grant", "grant later", "grant", "grant later");
    const call = converse({ path: "/feed.Feed/Collect" });
    for (const number of ["1", "2", "3"]) void call.send({ number });
    call.end();
    await limits.release();
    await limits.release();
    const { end, messages } = await ended(call);
    t.equal(end.code, Code.OK, end.message);
    t.match(messages, [{ count: "3", total: "6" }]);
    t.equal(limits.messages, 3);
    await released(t);
  });

  for (const act of ["refuse", "refuse later"] as const) {
    t.test(`a message ends the stream: ${act}`, async (t) => {
      limits.reset("grant", "grant", act);
      const call = converse(CHAT);
      await chat(call, 1);
      void call.send({ number: "2" });
      if (act === "refuse later") await limits.release();
      const { end, head, messages } = await ended(call);
      t.equal(Code[end.code], "RESOURCE_EXHAUSTED");
      t.equal(end.message, DETAIL);
      t.match(messages, [{ number: "1" }]);
      t.equal(messages.length, 1);
      if (name.startsWith("gRPC over")) t.match(head?.fields, { ...HEADERS, "retry-after": "2" }, "trailers");
      await until(() => it.feed.open === 0);
      await released(t);
    });
  }

  t.test("messages wait in order while one is counted", async (t) => {
    limits.reset("grant", "grant", "grant later");
    const call = converse(CHAT);
    await chat(call, 1);
    for (const number of ["2", "3", "4"]) void call.send({ number });
    call.end();
    await until(() => limits.messages === 2);
    t.equal(call.heard().messages.length, 1);
    await limits.release();
    const { end, messages } = await ended(call);
    t.equal(end.code, Code.OK, end.message);
    t.match(messages, [{ number: "1" }, { number: "2" }, { number: "3" }, { number: "4" }]);
    t.equal(limits.messages, 4);
    await released(t);
  });
}

/** Sends messages, and waits for the response to each. */
async function chat(call: Conversation, messages: number): Promise<void> {
  for (let number = 1; number <= messages; number++) {
    void call.send({ number: `${number}` });
    await until(() => call.heard().messages.length === number);
  }
}

for (const version of HTTP_VERSIONS) {
  t.test(`once for a request over ${version}`, async (t) => {
    const client = httpClient(t, version, gateway.address);
    const asked = { method: "POST", path: "/probe/Probe/Call", headers: { "content-type": "application/json" } };

    t.test("whose body comes later, before the body", async (t) => {
      limits.reset("grant");
      const request = client.open({ ...asked, headers: { ...asked.headers, "content-length": "12" } });
      await until(() => limits.counted.length === 1);
      request.write('{"text":"a"}');
      request.end();
      t.equal((await request.head).status, 200);
      t.equal(limits.counted.length, 1);
      await released(t);
    });

    t.test("whose client leaves while the body is received", async (t) => {
      limits.reset("grant");
      const request = client.open({ ...asked, headers: { ...asked.headers, "content-length": "12" } });
      await until(() => limits.open === 1);
      request.leave();
      await released(t);
    });

    t.test("whose rule is deleted while the limit counts it", async (t) => {
      for (const path of ["/probe/Probe/Call", "/probe/Probe/Tell"]) {
        limits.reset("grant later");
        const asking = client.send({ path, ...(path.endsWith("Call") && { ...asked, body: "{}" }) });
        await until(() => limits.counted.length === 1);
        const denied = { id: "denied", scope: "<public>", access: "DENIED", priority: 20 };
        await createRule(it, { ...denied, resource: "service:probe:Probe.*" });
        await limits.release();
        t.equal((await asking).status, 401, path);
        await deleteRule(it, "denied");
        await released(t);
        t.equal(limits.counted.length, 1);
      }
    });

    t.test("refused before its body", async (t) => {
      limits.reset("refuse");
      const request = client.open({ ...asked, headers: { ...asked.headers, "content-length": "12" } });
      const { status, headers } = await request.head;
      t.equal(status, 429);
      t.match(headers, { ...HEADERS, "retry-after": "2" });
    });
  });
}

t.test("JSON, and the record of a refusal", async (t) => {
  limits.reset("refuse");
  recorded.length = 0;
  const { status, headers, response } = await open(it, "/probe/Probe/Call", {
    body: {},
    headers: { authorization: `Bearer ${it.admin}` },
  });
  response.resume();
  t.equal(status, 429);
  t.match(headers, { ...HEADERS, "retry-after": "2" });
  const refused = { reason: "CALL_LIMIT", cause: "ci", account: "admin", namespace: "default" };
  t.match(recorded, [{ endpoint: "probe:Probe.Call", status: 429, address: "127.0.0.1", refused }]);
  const line = logged.findLast(({ endpoint }) => endpoint === "probe:Probe.Call");
  t.match(line, { status: 429, limit: "ci", account: "admin", address: "127.0.0.1" });
  t.match(await metrics.text(), /^portico_limit_refused_total\{limit="ci"\} [1-9]/m);
});

t.test("the error object of JSON", async (t) => {
  limits.reset("refuse");
  const response = await fetch(`http://127.0.0.1:${it.port}/probe/Probe/Call`, { method: "POST" });
  t.match(await response.json(), {
    ...{ Id: "gateway", Code: 429, Detail: DETAIL, Status: "Too Many Requests" },
    Details: [{ violations: [{ subject: "limit:ci" }] }, { retryDelay: "2s" }],
  });
});

t.test("a WebSocket is refused at its handshake", async (t) => {
  limits.reset("refuse");
  const { status, headers, error } = await refused(it, "/feed/Feed/Chat");
  t.equal(status, 429);
  t.match(headers, { ...HEADERS, "retry-after": "2" });
  t.match(error, { Code: 429, Detail: DETAIL });
});

t.test("the response to a handshake has the headers", async (t) => {
  limits.reset("grant");
  const socket = new WebSocket(`ws://127.0.0.1:${it.port}/feed/Feed/Chat`);
  const [response] = await once(socket, "upgrade");
  t.match(response.headers, HEADERS);
  socket.terminate();
  await released(t);
});

t.test("a caller that the guard does not know, and whose rule is deleted while the limit counts it", async (t) => {
  const authorization = `Bearer ${await login(handler, "admin")}`;
  limits.reset("grant later");
  const asking = open(it, "/probe/Probe/Tell", { headers: { authorization } });
  await until(() => limits.counted.length === 1);
  const denied = { id: "denied", scope: "<public>", access: "DENIED", priority: 20 };
  await createRule(it, { ...denied, resource: "service:probe:Probe.*" });
  await limits.release();
  const { status, response } = await asking;
  response.resume();
  t.equal(status, 403);
  await deleteRule(it, "denied");
  await released(t);
});

t.test("a message closes a WebSocket with 4429", async (t) => {
  limits.reset("grant", "grant", "refuse");
  const { socket, frames, closed } = await dial(it, "/feed/Feed/Chat");
  for (const number of [1, 2]) socket.send(JSON.stringify({ number }));
  t.same(await closed, [4429, DETAIL]);
  t.match(JSON.parse(frames.at(-1) ?? ""), { Code: 429, Detail: DETAIL });
  await released(t);
});

t.test("an agent gets an error of HTTP and of JSON-RPC", async (t) => {
  limits.reset("refuse");
  const call = { name: "probe.Call", arguments: { text: "a" } };
  const { status, headers, body } = await send(handler, "tools/call", call);
  t.equal(status, 429);
  t.match(headers, { ...HEADERS, "retry-after": "2" });
  t.match(body, { id: 1, error: { code: 429, message: DETAIL } });
  limits.reset("grant");
  const granted = await send(handler, "tools/call", call);
  t.equal(granted.status, 200);
  t.match(granted.headers, HEADERS);
  t.equal(limits.counted.length, 1, "the message itself does not count");
  await released(t);
});

t.test("an upload counts once, however its bytes arrive", async (t) => {
  limits.reset("grant", "refuse");
  const headers = { "content-type": "test/plain", "transfer-encoding": "chunked" };
  const { port } = it;
  const sending = request({ host: "127.0.0.1", port, method: "POST", path: "/feed/Feed/Store", headers });
  sending.write("a");
  await until(() => limits.counted.length === 1);
  sending.write("b");
  sending.end("c");
  const [response] = await once(sending, "response");
  t.equal(response.statusCode, 200);
  response.resume();
  t.equal(limits.messages, 0);
  await released(t);
});

t.test("a count at once makes no promise, and the guard decides once", async (t) => {
  const made: string[] = [];
  const hook = createHook({ init: (_id, type) => void made.push(type) });
  const promisesOf = async (act: Act | undefined): Promise<number> => {
    limits.reset(act);
    it.decided.length = 0;
    made.length = 0;
    hook.enable();
    await ask(handler, { target: "/probe/Probe/Tell" });
    hook.disable();
    t.equal(limits.counted.length, 1);
    t.same(it.decided, ["service:probe:Probe.Tell"]);
    return made.filter((type) => type === "PROMISE").length;
  };
  await promisesOf(undefined); // The first call resolves what later calls share.
  const without = await promisesOf(undefined);
  t.ok(without > 0 && without < 20, `${without} promises`);
  t.equal(await promisesOf("grant"), without);
});

t.test("Portico's own endpoints and routes are exempt", async (t) => {
  limits.reset("refuse");
  for (const path of ["/readyz", "/openapi", "/auth/Rules/List", "/nowhere"]) {
    const { status, response } = await open(it, path, { headers: { authorization: `Bearer ${it.admin}` } });
    response.resume();
    t.not(status, 429, path);
  }
  t.same(limits.counted, []);
});
