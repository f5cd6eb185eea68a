// Which callers are admitted, and what the endpoint learns about them.
import t from "tap";
import { SYSTEM } from "../../src/call/admission.js";
import type { Caller } from "../../src/call/caller.js";
import type { Metadata } from "../../src/call/metadata.js";
import { Code, StatusError } from "../../src/errors.js";
import { type CallOptions, stream, unary } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import type { Context } from "../../src/rpc/service.js";
import { RawService, rawService } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";
import { caller, TableGuard } from "./table-guard.js";

const ada = caller("ada");
const TOKEN = "pta_1";

/**
 * A guard that knows the tokens of Ada and of gateways. It refuses nothing, except when `close` is
 * called for an endpoint.
 */
function guardOf(): TableGuard {
  const guard = new TableGuard();
  guard.callers.set(TOKEN, ada);
  guard.callers.set("pte_gateway", caller("", { enrolment: "gateway" }));
  guard.callers.set("pte_helloworld", caller("", { enrolment: "helloworld" }));
  return guard;
}

/** Calls `one` and returns the context that the endpoint got. */
async function contextOf(options: CallOptions, guard = guardOf()): Promise<Context> {
  let context: Context | undefined;
  const service = rawService({
    one(request, given) {
      context = given;
      return request;
    },
  });
  const channel = new InProcessChannel(dispatcherOf([service], { guard }));
  await unary(channel, RawService.one, Buffer.from("a"), options);
  return context as Context;
}

const AUTHORIZATIONS: [what: string, metadata: Metadata, expected: Caller | undefined | Code][] = [
  ["no token", [], undefined],
  ["a token", [["authorization", `Bearer ${TOKEN}`]], ada],
  ["the scheme in mixed case (RFC 9110, section 11.1)", [["authorization", `bEARER ${TOKEN}`]], ada],
  ["an unknown token", [["authorization", "Bearer pta_2"]], undefined],
  ["another scheme", [["authorization", `Basic ${TOKEN}`]], undefined],
  ["a token without a scheme", [["authorization", TOKEN]], undefined],
  ["two spaces (RFC 9110, section 11.4)", [["authorization", `Bearer  ${TOKEN}`]], ada],
  ["a tab before the token", [["authorization", `Bearer \t${TOKEN}`]], undefined],
  ["more text after the token", [["authorization", `Bearer ${TOKEN} x`]], undefined],
  ["two tokens in one entry", [["authorization", `Bearer ${TOKEN}, Bearer ${TOKEN}`]], undefined],
  ["a token as bytes", [["authorization", Buffer.from(`Bearer ${TOKEN}`)]], undefined],
  ["a token under another name", [["x-authorization", `Bearer ${TOKEN}`]], undefined],
  [
    "two entries, even with the same token",
    [
      ["authorization", `Bearer ${TOKEN}`],
      ["authorization", `Bearer ${TOKEN}`],
    ],
    Code.UNAUTHENTICATED,
  ],
];

for (const later of [false, true]) {
  for (const [what, metadata, expected] of AUTHORIZATIONS) {
    t.test(`${what}, guard decides ${later ? "later" : "at once"}`, async (t) => {
      const guard = guardOf();
      guard.later = later;
      if (typeof expected === "number") await t.rejects(contextOf({ metadata }, guard), { code: expected });
      else t.equal((await contextOf({ metadata }, guard)).caller, expected);
    });
  }

  t.test(`a refused caller gets the guard's status, guard decides ${later ? "later" : "at once"}`, async (t) => {
    const guard = guardOf();
    guard.later = later;
    guard.close("raw:Raw.One");
    await t.rejects(contextOf({}, guard), {
      code: Code.UNAUTHENTICATED,
      message: "Unauthorized call made to raw:Raw.One",
    });
    t.equal((await contextOf({ metadata: [["authorization", `Bearer ${TOKEN}`]] }, guard)).caller, ada);
  });
}

t.test("a refused call never reaches its endpoint", async (t) => {
  const guard = guardOf();
  for (const name of ["One", "Download", "Upload", "Chat"]) guard.close(`raw:Raw.${name}`);
  const reached = (): never => t.fail("it did") as never;
  const service = rawService({ one: reached, download: reached, upload: reached, chat: reached });
  const channel = new InProcessChannel(dispatcherOf([service], { guard }));
  for (const method of Object.values(RawService)) {
    const { send, end, responses } = stream(channel, method);
    send(Buffer.from("a"));
    end();
    await t.rejects(responses[Symbol.asyncIterator]().next(), { code: Code.UNAUTHENTICATED });
  }
  t.equal(guard.following, 0);
});

t.test("the endpoint's context has its name, the namespace, the metadata and the deadline", async (t) => {
  const metadata: Metadata = [["platform-namespace", "blue"]];
  const deadlineMonotonicMs = performance.now() + 60_000;
  const context = await contextOf({ metadata, deadlineMonotonicMs });
  t.match(context, { endpoint: "raw:Raw.One", namespace: "blue", metadata, deadlineMonotonicMs, system: false });
});

t.test("a call in process with an admission is not admitted again", async (t) => {
  const guard = guardOf();
  const endpoint = dispatcherOf([rawService({})]).endpoints.find(({ name }) => name === "raw:Raw.One");
  if (endpoint === undefined) throw new Error("raw:Raw.One is served");
  guard.close(endpoint.name);
  const admission = { endpoint, caller: ada, namespace: "blue" };
  t.match(await contextOf({ admission }, guard), { caller: ada, namespace: "blue", system: false });
  const other = { ...admission, endpoint: { ...endpoint, resource: "service:other:Raw.One" } };
  await t.rejects(
    contextOf({ admission: other }, guard),
    { code: Code.INTERNAL },
    "an admission is valid only for its own resource",
  );
});

t.test("this process itself is admitted everywhere", async (t) => {
  const guard = guardOf();
  guard.close("raw:Raw.One");
  t.match(await contextOf({ admission: SYSTEM }, guard), { caller: undefined, system: true, namespace: "default" });
});

const FORWARDED: [what: string, metadata: Metadata, address: string][] = [
  ["stated by no one", [], "in-process"],
  ["stated by the client itself", [["x-portico-client-address", "192.0.2.1"]], "in-process"],
  [
    "stated by a caller with a caller assertion",
    [
      ["x-portico-context", "signed"],
      ["x-portico-client-address", "192.0.2.1"],
    ],
    "192.0.2.1",
  ],
  ["not stated by a caller with a caller assertion", [["x-portico-context", "signed"]], "in-process"],
  [
    "stated by an enrolled gateway",
    [
      ["x-portico-gateway", "pte_gateway"],
      ["x-portico-client-address", "192.0.2.1"],
    ],
    "192.0.2.1",
  ],
  ["not stated by an enrolled gateway", [["x-portico-gateway", "pte_gateway"]], "in-process"],
  [
    "stated by another enrolled service",
    [
      ["x-portico-gateway", "pte_helloworld"],
      ["x-portico-client-address", "192.0.2.1"],
    ],
    "in-process",
  ],
  [
    "stated by an account",
    [
      ["x-portico-gateway", TOKEN],
      ["x-portico-client-address", "192.0.2.1"],
    ],
    "in-process",
  ],
  [
    "stated by a caller with an unknown token",
    [
      ["x-portico-gateway", "pte_unknown"],
      ["x-portico-client-address", "192.0.2.1"],
    ],
    "in-process",
  ],
];

for (const [who, metadata, address] of FORWARDED) {
  t.test(`client address: ${who}`, async (t) => t.equal((await contextOf({ metadata })).clientAddress, address));
}

t.test("client address: stated by this process itself", async (t) => {
  t.equal((await contextOf({ clientAddress: "192.0.2.7" })).clientAddress, "192.0.2.7");
});

t.test("a guard that throws an unexpected error admits no caller", async (t) => {
  const guard = guardOf();
  guard.admit = () => {
    throw new TypeError("broken");
  };
  await t.rejects(contextOf({}, guard), { code: Code.INTERNAL, message: "Internal error" });
  guard.admit = () => Promise.reject(new StatusError(Code.UNAVAILABLE, "the authority is unreachable"));
  await t.rejects(contextOf({}, guard), { code: Code.UNAVAILABLE, message: "the authority is unreachable" });
});
