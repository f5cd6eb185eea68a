// If a client's share of the memory is full, unfinished gRPC messages are given up for complete
// ones: at the gRPC port, and in streams of messages at the HTTP port.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { request } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { Code } from "../../src/errors.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { serveHttp2 } from "../../src/rpc/http2/server.js";
import { deploy } from "../gateway/deployment.js";
import { message } from "../http2/peer.js";
import { rawService } from "../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";
import { temporaryFolder } from "../support/temporary.js";
import { inTime, until } from "../support/until.js";

const LIMIT = 20 * 1024 ** 2;
const WHOLE = message(Buffer.alloc(100_000));
/** The beginning of a message of 900,000 bytes. */
const PART = message(Buffer.alloc(900_000)).subarray(0, 400_000);

const service = rawService({
  one: (bytes) => bytes,
  async upload(messages) {
    for await (const _ of messages);
    return Buffer.alloc(0);
  },
});

const PORTS = {
  async "the gRPC port"(t: Test, budget: MemoryBudget): Promise<number> {
    const server = await serveHttp2(dispatcherOf([service]), { host: "127.0.0.1", port: 0 }, LIMITS, { budget });
    t.teardown(() => server.close(0));
    return (server.address as { port: number }).port;
  },
  async "the HTTP port"(t: Test, budget: MemoryBudget): Promise<number> {
    const { gateway, close } = await deploy(t.testdir(), { budget, services: [service] });
    t.teardown(close);
    return gateway.address.port;
  },
};

/** A call that has sent a part of its request, and how it ended. */
interface Opened {
  readonly stream: ClientHttp2Stream;
  status: string | undefined;
  message: string;
}

function open(session: ClientHttp2Session, method: string, bytes: Buffer, encoding = "identity"): Opened {
  const path = `/raw.Raw/${method}`;
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    "grpc-encoding": encoding,
    te: "trailers",
  });
  const opened: Opened = { stream, status: undefined, message: "" };
  const onEnd = (fields: Record<string, unknown>): void => {
    if (fields["grpc-status"] === undefined) return;
    opened.status = String(fields["grpc-status"]);
    opened.message = decodeURIComponent(String(fields["grpc-message"] ?? ""));
  };
  stream.on("response", onEnd);
  stream.on("trailers", onEnd);
  stream.on("error", () => {});
  stream.resume();
  stream.write(bytes);
  return opened;
}

/** Opens calls until one of them has ended. */
async function fill(budget: MemoryBudget, openNext: () => { readonly status: string | undefined }): Promise<void> {
  const calls: { readonly status: string | undefined }[] = [];
  const isOver = (): boolean => calls.some(({ status }) => status !== undefined);
  while (!isOver() && calls.length < 100) {
    const before = budget.reserved;
    calls.push(openNext());
    await until(() => budget.reserved > before + 300_000 || isOver());
  }
}

for (const [name, listen] of Object.entries(PORTS)) {
  t.test(`${name}: complete messages pass while others of the connection stay unfinished`, async (t) => {
    const budget = new MemoryBudget({ limit: LIMIT });
    const session = connect(`http://127.0.0.1:${await listen(t, budget)}`);
    t.teardown(() => session.destroy());
    await once(session, "connect");
    // Its first message is complete, so nothing of it can be given up.
    const idle = open(session, "Upload", message(Buffer.alloc(10)));
    const parts: Opened[] = [];
    await fill(budget, () => {
      const next = open(session, "Upload", PART);
      parts.push(next);
      return next;
    });
    t.match(parts[0], { status: String(Code.RESOURCE_EXHAUSTED), message: /given up: .* unfinished/ });
    for (let round = 0; round < 5; round++) {
      const whole = open(session, "One", WHOLE);
      whole.stream.end();
      await until(() => whole.status !== undefined);
      t.equal(whole.status, "0");
    }
    t.ok(
      parts.slice(4).every(({ status }) => status === undefined),
      "no more are given up than are needed",
    );
    idle.stream.end();
    await until(() => idle.status !== undefined);
    t.equal(idle.status, "0", "a stream without an unfinished message goes on");
    session.destroy();
    await until(() => budget.reserved === 0);
  });
}

/**
 * Blocks zlib's threads until the returned function is called: each opens a pipe that no process
 * writes to.
 */
function occupyThreads(t: Test): () => void {
  const pipe = join(temporaryFolder(t), "pipe");
  execFileSync("mkfifo", [pipe]);
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  const opened = Array.from({ length: threads }, () => openFile(pipe).then((file) => file.close()));
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    const writer = openSync(pipe, "r+");
    Promise.all(opened).finally(() => closeSync(writer));
  };
  t.teardown(release);
  return release;
}

/** Compressed it fits in a frame or two; decompressed it is too large for one step. */
const COMPRESSED = message(gzipSync(Buffer.concat([randomBytes(40_000), Buffer.alloc(100_000)])), 1);

for (const [name, listen] of Object.entries(PORTS)) {
  t.test(
    `${name}: the oldest message is not given up while it is decompressed and a part of the next has arrived`,
    async (t) => {
      const budget = new MemoryBudget({ limit: LIMIT });
      const session = connect(`http://127.0.0.1:${await listen(t, budget)}`);
      t.teardown(() => session.destroy());
      await once(session, "connect");
      const release = occupyThreads(t);
      const oldest = open(session, "Upload", COMPRESSED.subarray(0, 20_000), "gzip");
      await until(() => budget.reserved >= 20_000);
      const next = message(Buffer.alloc(10));
      oldest.stream.write(Buffer.concat([COMPRESSED.subarray(20_000), next.subarray(0, 3)]));
      const parts: Opened[] = [];
      await fill(budget, () => {
        const part = open(session, "Upload", PART);
        parts.push(part);
        return part;
      });
      t.match(parts[0], { status: String(Code.RESOURCE_EXHAUSTED), message: /given up: .* unfinished/ });
      t.equal(oldest.status, undefined);
      release();
      oldest.stream.end(next.subarray(3));
      await until(() => oldest.status !== undefined);
      t.equal(oldest.status, "0", oldest.message);
    },
  );
}

t.test("the HTTP port: unfinished messages in streams over HTTP/1.1 are given up, too", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  const port = await PORTS["the HTTP port"](t, budget);
  const url = `http://127.0.0.1:${port}/raw.Raw/Upload`;
  const headers = { "content-type": "application/connect+proto" };
  const ended: string[] = [];
  let first: { readonly status: string | undefined } | undefined;
  await fill(budget, () => {
    const call = request(url, { method: "POST", headers, agent: false });
    const opened: { status: string | undefined } = { status: undefined };
    first ??= opened;
    call.on("response", async (response) => {
      const chunks = await response.toArray();
      ended.push(String(Buffer.concat(chunks)));
      opened.status = String(response.statusCode);
    });
    call.on("error", () => {});
    t.teardown(() => call.destroy());
    call.write(PART);
    return opened;
  });
  t.equal(first?.status, "200");
  t.match(ended, [/resource_exhausted.*given up/]);
  const whole = await inTime(
    fetch(`http://127.0.0.1:${port}/raw.Raw/One`, {
      method: "POST",
      headers: { "content-type": "application/proto" },
      body: WHOLE.subarray(5),
    }),
    "an answer",
  );
  t.equal(whole.status, 200);
});
