/**
 * The guarantees of every dialect for its callers, as one suite: decision, namespace, revocation of
 * open streams, deadlines, cancellation, limits, back-pressure, mapping of errors, unknown fields
 * and compression. A dialect passes the suite over a real socket.
 */
import { gunzipSync, gzipSync } from "node:zlib";
import type { Test } from "tap";
import { Code } from "../../src/errors.js";
import { createRule, deleteRule, type Scene } from "../gateway/dialects/json/streams/client.js";
import { inTime, until } from "../support/until.js";

/** A request in a dialect. */
export interface Asked {
  /** gRPC path of the endpoint, `/probe.Probe/Tell`. */
  readonly path: string;
  /** As an object, or already encoded. */
  readonly message: object | Buffer;
  readonly token?: string;
  readonly namespace?: string;
  readonly timeoutMs?: number;
  /** Whether the message is compressed by gzip, and the response shall be. */
  readonly gzip?: boolean;
}

/** The part of a response that has arrived so far. */
export interface Heard {
  readonly messages: readonly unknown[];
  /** How the call has ended; undefined while it is open. */
  readonly end: { readonly code: Code; readonly message: string; readonly details: readonly string[] } | undefined;
  /** Whether the first message was compressed. */
  readonly isCompressed: boolean;
  /** The HTTP status, headers and trailers; undefined over a WebSocket. */
  readonly head?: { readonly status: number; readonly fields: Readonly<Record<string, unknown>> };
}

/** A call that is open, or has ended. */
export interface OpenCall {
  readonly heard: () => Heard;
  /** Stops reading. */
  pause(): void;
  /** Cancels the call. */
  leave(): void;
}

/** A call whose client sends messages for as long as it likes. */
export interface Conversation extends OpenCall {
  /** Sends a message. Resolves when the operating system has taken it. */
  send(message: object): Promise<void>;
  /** Sends no more messages. */
  end(): void;
}

export interface DialectClient {
  readonly name: string;
  /**
   * Whether fields that the contract lacks are refused; otherwise they reach the service unchanged.
   */
  readonly refusesUnknown: boolean;
  open(asked: Asked): OpenCall;
  /** Opens a call of an endpoint that receives a stream; undefined if the dialect has none. */
  readonly converse?: ((asked: Omit<Asked, "message" | "gzip">) => Conversation) | undefined;
  /** An encoded message with a field that the contract lacks. */
  readonly unknown: Buffer;
  /** The code that the client gets for the service's code OWN_CODE. */
  readonly ownCode: Code;
}

/** A code that google.rpc.Code does not have; OpenFGA uses such codes. */
export const OWN_CODE = Number(2_027) as Code;

const DENIED = { scope: "<public>", access: "DENIED", priority: 20 };

/** The options for the scene of the suite. */
export const SCENE = { flags: { maxBody: "65536" }, bound: true };

async function ended(call: OpenCall): Promise<Heard & { readonly end: NonNullable<Heard["end"]> }> {
  await until(() => call.heard().end !== undefined, { what: () => `an end, after ${JSON.stringify(call.heard())}` });
  return call.heard() as Heard & { readonly end: NonNullable<Heard["end"]> };
}

interface Case {
  readonly title: string;
  readonly asked: Asked;
  readonly code: Code;
  readonly message?: RegExp;
  /** Of the first message. */
  readonly response?: object;
}

const RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo";

const casesOf = ({ admin }: Scene): readonly Case[] => [
  {
    title: "a call without a token succeeds if the rules admit everyone",
    asked: { path: "/probe.Probe/Call", message: { text: "a" } },
    code: Code.OK,
    response: { text: "a" },
  },
  {
    title: "the service learns the caller and the namespace",
    asked: { path: "/probe.Probe/Tell", message: {}, token: admin },
    code: Code.OK,
    response: { caller: "admin", namespace: "default" },
  },
  {
    title: "a token that belongs to no caller counts as no token",
    asked: { path: "/probe.Probe/Tell", message: {}, token: "nonsense" },
    code: Code.OK,
    response: { caller: "" },
  },
  {
    title: "the rules of the requested namespace decide",
    asked: { path: "/probe.Probe/Tell", message: {}, namespace: "elsewhere" },
    code: Code.UNAUTHENTICATED,
    message: /Unauthorized call made to probe:Probe.Tell/,
  },
  {
    title: "a malformed namespace is refused",
    asked: { path: "/probe.Probe/Tell", message: {}, namespace: "Not One" },
    code: Code.INVALID_ARGUMENT,
    message: /Platform-Namespace/,
  },
  {
    title: "a rule refuses a call without a token as unauthorized",
    asked: { path: "/probe.Closed/Call", message: {} },
    code: Code.UNAUTHENTICATED,
    message: /Unauthorized call made to probe:Closed.Call/,
  },
  {
    title: "a rule refuses a caller as forbidden",
    asked: { path: "/probe.Closed/Call", message: {}, token: admin },
    code: Code.PERMISSION_DENIED,
    message: /Forbidden call made to probe:Closed.Call by admin/,
  },
  {
    title: "a rule refuses a stream",
    asked: { path: "/feed.Feed/Broken", message: {} },
    code: Code.UNAUTHENTICATED,
    message: /Unauthorized call made to feed:Feed.Broken/,
  },
  {
    title: "an error of the service is passed on",
    asked: { path: "/probe.Probe/Fail", message: { code: 5, message: "none here" } },
    code: Code.NOT_FOUND,
    message: /^none here$/,
  },
  {
    title: "an error's message may contain any Unicode characters",
    asked: { path: "/probe.Probe/Fail", message: { code: 9, message: "ä ☺ 100 %" } },
    code: Code.FAILED_PRECONDITION,
    message: /^ä ☺ 100 %$/,
  },
  {
    title: "a call ends at its deadline",
    asked: { path: "/probe.Probe/Hang", message: {}, timeoutMs: 50 },
    code: Code.DEADLINE_EXCEEDED,
  },
  {
    title: "a stream ends at its deadline",
    asked: { path: "/feed.Feed/Count", message: { messages: "1", hang: true }, timeoutMs: 300 },
    code: Code.DEADLINE_EXCEEDED,
  },
  {
    title: "a repeated field is passed to the service and back",
    asked: { path: "/probe.Probe/Call", message: { words: ["a", "b"] } },
    code: Code.OK,
    response: { words: ["a", "b"] },
  },
  {
    title: "a message that is too large is refused",
    asked: { path: "/probe.Probe/Call", message: { text: "a".repeat(70_000) } },
    code: Code.RESOURCE_EXHAUSTED,
    message: /larger than/,
  },
  {
    title: "a stream has several messages",
    asked: { path: "/feed.Feed/Count", message: { messages: "3" } },
    code: Code.OK,
    response: { number: "1" },
  },
  {
    title: "a stream that fails has the messages before the error",
    asked: { path: "/feed.Feed/Count", message: { messages: "1", code: 10 } },
    code: Code.ABORTED,
    response: { number: "1" },
  },
];

/** @param it made with SCENE, and the dialect's clients of it */
export function dialectSuite(t: Test, it: Scene, client: DialectClient): void {
  t.test(client.name, async (t) => {
    await prepare(it);
    for (const { title, asked, code, message, response } of casesOf(it)) {
      t.test(title, async (t) => {
        const { end, messages } = await ended(client.open(asked));
        t.equal(Code[end.code], Code[code], end.message);
        if (message !== undefined) t.match(end.message, message);
        if (response !== undefined) t.match(messages[0], response);
      });
    }
    t.test("details of an error are passed on", async (t) => {
      const message = { code: 8, message: "later", detailType: RETRY_INFO, detailValue: "CgIIAw==" };
      const { end } = await ended(client.open({ path: "/probe.Probe/Fail", message }));
      t.match(end.details[0], /google\.rpc\.RetryInfo/);
    });
    for (const [shape, path, message] of [
      ["a call", "/probe.Probe/Fail", { code: OWN_CODE, message: "no such tuple", detailType: RETRY_INFO }],
      ["a stream", "/feed.Feed/Count", { messages: "1", code: OWN_CODE }],
    ] as const) {
      t.test(`a code that the service defines ends ${shape}, with message and details`, async (t) => {
        const { end, messages } = await ended(client.open({ path, message }));
        t.equal(end.code, client.ownCode, end.message);
        if (shape === "a stream") t.match(messages, [{ number: "1" }]);
        else t.match([end.message, ...end.details], ["no such tuple", /google\.rpc\.RetryInfo/]);
      });
    }
    streams(t, it, client);
    if (client.converse !== undefined) conversations(t, it, client.converse);
    unknownFields(t, client);
    compression(t, client);
  });
}

let prepared: Scene | undefined;

async function prepare(it: Scene): Promise<void> {
  if (prepared === it) return;
  prepared = it;
  await createRule(it, { id: "closed", ...DENIED, resource: "service:probe:Closed.*" });
  await createRule(it, { id: "broken", ...DENIED, resource: "service:feed:Feed.Broken" });
}

function streams(t: Test, it: Scene, client: DialectClient): void {
  const endless: Asked = { path: "/feed.Feed/Count", message: { messages: "1", hang: true } };

  t.test("a stream ends when the rule that admitted it is deleted", async (t) => {
    const call = client.open(endless);
    await until(() => call.heard().messages.length === 1);
    await createRule(it, { id: "revoked", ...DENIED, resource: "service:feed:Feed.Count" });
    const { end } = await ended(call);
    await deleteRule(it, "revoked");
    t.equal(end.code, Code.UNAUTHENTICATED);
    t.match(end.message, /Unauthorized call made to feed:Feed.Count/);
    await until(() => it.feed.open === 0);
  });

  t.test("the service is notified of a client that leaves", async (t) => {
    const call = client.open(endless);
    await until(() => call.heard().messages.length === 1);
    t.equal(it.feed.open, 1);
    call.leave();
    await until(() => it.feed.open === 0);
  });

  t.test("the service waits for a client that does not read", async (t) => {
    it.feed.produced = 0;
    const call = client.open({ path: "/feed.Feed/Count", message: { padding: 16_384 } });
    await until(() => it.feed.produced > 0);
    call.pause();
    let last = -1;
    const isStill = async (): Promise<boolean> => {
      const before = last;
      last = it.feed.produced;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return last === before && it.feed.produced === last;
    };
    await until(isStill, { what: () => `a pause, after ${it.feed.produced} messages` });
    t.ok(it.feed.produced * 16_384 < 64 * 2 ** 20, `${it.feed.produced} messages of 16 KiB`);
    call.leave();
    await inTime(it.feed.idle(), "the end of the call at the service");
  });
}

/** Bytes that may be on their way to a service that does not read. */
const MAX_UNREAD = 48 * 2 ** 20;
/** A message that is not taken for this time waits for the service, in milliseconds. */
const PAUSE_MS = 1_000;

/** Endpoints that receive a stream, and respond with one message or a stream. */
function conversations(t: Test, it: Scene, converse: NonNullable<DialectClient["converse"]>): void {
  const chat = { path: "/feed.Feed/Chat" };

  t.test("a stream of messages has one response", async (t) => {
    const call = converse({ path: "/feed.Feed/Collect" });
    for (const number of ["1", "2", "3"]) void call.send({ number });
    call.end();
    const { end, messages } = await ended(call);
    t.equal(end.code, Code.OK, end.message);
    t.match(messages, [{ count: "3", total: "6" }]);
  });

  t.test("a stream without messages has its response, too", async (t) => {
    const call = converse({ path: "/feed.Feed/Collect" });
    call.end();
    const { end, messages } = await ended(call);
    t.equal(end.code, Code.OK, end.message);
    t.match(messages, [{ count: "0" }]);
  });

  t.test("both sides send messages in turn", async (t) => {
    const call = converse(chat);
    for (const number of ["1", "2", "3"]) {
      void call.send({ number });
      await until(() => call.heard().messages.length === Number(number));
    }
    call.end();
    const { end, messages } = await ended(call);
    t.equal(end.code, Code.OK, end.message);
    t.match(messages, [{ number: "1" }, { number: "2" }, { number: "3" }]);
  });

  t.test("a conversation ends when the rule that admitted it is deleted", async (t) => {
    const call = converse(chat);
    void call.send({ number: "1" });
    await until(() => call.heard().messages.length === 1);
    await createRule(it, { id: "revoked", ...DENIED, resource: "service:feed:Feed.Chat" });
    const { end } = await ended(call);
    await deleteRule(it, "revoked");
    t.equal(end.code, Code.UNAUTHENTICATED);
    t.match(end.message, /Unauthorized call made to feed:Feed.Chat/);
    await until(() => it.feed.open === 0);
  });

  t.test("a conversation whose rule is deleted before the first message is refused", async (t) => {
    const resource = "service:feed:Feed.Chat";
    it.decided.length = 0;
    const call = converse(chat);
    await until(() => it.decided.includes(resource));
    await createRule(it, { id: "revoked", ...DENIED, resource });
    void call.send({ number: "1" });
    const { end, messages } = await ended(call);
    await deleteRule(it, "revoked");
    t.equal(end.code, Code.UNAUTHENTICATED);
    t.same(messages, []);
  });

  t.test("a conversation ends at its deadline", async (t) => {
    const call = converse({ ...chat, timeoutMs: 300 });
    void call.send({ number: "1" });
    t.equal((await ended(call)).end.code, Code.DEADLINE_EXCEEDED);
    await until(() => it.feed.open === 0);
  });

  t.test("the service is notified of a client that leaves a conversation", async (t) => {
    const call = converse(chat);
    void call.send({ number: "1" });
    await until(() => call.heard().messages.length === 1);
    t.equal(it.feed.open, 1);
    call.leave();
    await until(() => it.feed.open === 0);
  });

  t.test("a client waits for a service that does not read", async (t) => {
    const call = converse({ path: "/feed.Feed/Stall" });
    const padding = "a".repeat(32 * 1024);
    let taken = 0;
    for (let isTaken = true; isTaken && taken < MAX_UNREAD; taken += padding.length) {
      const pause = new Promise<false>((resolve) => setTimeout(resolve, PAUSE_MS, false));
      isTaken = await Promise.race([call.send({ padding }).then(() => true), pause]);
    }
    t.ok(taken < MAX_UNREAD, `${taken} bytes`);
    // A rule also ends a call in which no message moves.
    await createRule(it, { id: "revoked", ...DENIED, resource: "service:feed:Feed.Stall" });
    await inTime(it.feed.idle(), "the end of the call at the service");
    await deleteRule(it, "revoked");
    call.leave();
  });
}

function unknownFields(t: Test, client: DialectClient): void {
  t.test(client.refusesUnknown ? "an unknown field is refused" : "an unknown field reaches the service", async (t) => {
    const { end, messages } = await ended(client.open({ path: "/probe.Probe/Call", message: client.unknown }));
    t.equal(end.code, client.refusesUnknown ? Code.INVALID_ARGUMENT : Code.OK);
    if (!client.refusesUnknown) t.same(messages, [client.unknown]);
  });
}

function compression(t: Test, client: DialectClient): void {
  t.test("a compressed message has a compressed response", async (t) => {
    const text = "a".repeat(10_000);
    const { end, messages, isCompressed } = await ended(
      client.open({ path: "/probe.Probe/Call", message: { text }, gzip: true }),
    );
    t.equal(end.code, Code.OK, end.message);
    t.match(messages[0], { text });
    t.ok(isCompressed);
  });
  t.test("a message that is too large after decompression is refused", async (t) => {
    const { end } = await ended(
      client.open({ path: "/probe.Probe/Call", message: { text: "a".repeat(1_000_000) }, gzip: true }),
    );
    t.equal(end.code, Code.RESOURCE_EXHAUSTED, end.message);
  });
}

export const gzip = { on: gzipSync, off: gunzipSync };
