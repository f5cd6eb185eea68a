import { randomBytes } from "node:crypto";
import { deflateSync, gzipSync } from "node:zlib";
import t from "tap";
import { Code } from "../../../src/errors.js";
import { decompress } from "../../../src/rpc/http2/decompression.js";
import { GrpcMessageReader } from "../../../src/rpc/http2/messages.js";
import { message } from "../../http2/peer.js";
import { deferred } from "../../support/deferred.js";

const MAX = 100_000;

/** Reads all messages from bytes that arrive in chunks of `size`. */
function read(reader: GrpcMessageReader, bytes: Buffer, size = bytes.length): string[] {
  const messages: string[] = [];
  for (let start = 0; start < bytes.length; start += size) {
    reader.push(bytes, start, Math.min(start + size, bytes.length));
    for (let next = reader.next(); next !== undefined; next = reader.next())
      messages.push(Buffer.from(next).toString());
  }
  return messages;
}

const TEXTS = ["", "a", "b".repeat(9), "c".repeat(MAX), "", "d".repeat(70_000)];

t.test("messages are the same whatever the size of the chunks", async (t) => {
  const bytes = Buffer.concat(TEXTS.map((text) => message(Buffer.from(text))));
  for (const size of [bytes.length, 1, 4, 5, 6, 13, 1_000, 65_536]) {
    const reader = new GrpcMessageReader(MAX);
    t.same(read(reader, bytes, size), TEXTS, `in chunks of ${size}`);
    t.equal(reader.hasMore, false);
  }
});

t.test("messages may be read later", async (t) => {
  const reader = new GrpcMessageReader(MAX);
  for (const text of TEXTS) {
    const bytes = message(Buffer.from(text));
    reader.push(bytes, 0, bytes.length);
  }
  t.same(
    TEXTS.map(() => Buffer.from(reader.next() ?? "missing").toString()),
    TEXTS,
  );
  t.equal(reader.next(), undefined);
});

t.test("a message that was returned does not change later", async (t) => {
  const reader = new GrpcMessageReader(MAX);
  const [first, second] = [message(Buffer.from("first")), message(Buffer.from("second"))];
  reader.push(first, 0, 7);
  reader.push(Buffer.concat([first, second]), 7, 14);
  const taken = reader.next();
  reader.push(Buffer.concat([first, second]), 14, 21);
  t.equal(`${reader.next()}`, "second");
  t.equal(`${taken}`, "first");
});

t.test("bytes that were pushed may be overwritten afterwards", async (t) => {
  const reader = new GrpcMessageReader(MAX);
  const bytes = Buffer.concat([message(Buffer.from("whole")), message(Buffer.from("cut"))]);
  const place = Buffer.from(bytes);
  reader.push(place, 0, bytes.length - 2);
  place.fill(0);
  const first = reader.next();
  bytes.copy(place);
  reader.push(place, bytes.length - 2, bytes.length);
  place.fill(0);
  t.same([`${first}`, `${reader.next()}`], ["whole", "cut"]);
});

t.test("memory grows with the bytes that have arrived, not with the announced length", async (t) => {
  const promise = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
  const reader = new GrpcMessageReader(2 ** 32);
  const before = process.memoryUsage().arrayBuffers;
  reader.push(promise, 0, 5);
  reader.push(Buffer.from("a"), 0, 1);
  t.equal(reader.next(), undefined);
  t.ok(process.memoryUsage().arrayBuffers - before < 1_000_000);
});

t.test("memory for bytes that have not arrived is reserved before it is allocated", async (t) => {
  const promise = Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 0x61]);
  const asked: number[] = [];
  let grants = false;
  const holder = { tryReserve: (bytes: number) => asked.push(bytes) > 0 && grants };
  const reader = new GrpcMessageReader(2 ** 32);
  t.notOk(reader.push(promise, 0, 6, holder));
  t.equal(reader.held, 0);
  grants = true;
  t.ok(reader.push(promise, 0, 6, holder));
  t.same(asked, [reader.held, reader.held]);
  const held = reader.held;
  grants = false;
  t.notOk(reader.push(Buffer.alloc(held), 0, held, holder));
  t.equal(reader.held, held);
  t.ok((asked.at(-1) as number) > held);
});

t.test("a message that has arrived completely needs no further reservation", async (t) => {
  const bytes = message(Buffer.from("a"));
  t.ok(new GrpcMessageReader(MAX).push(bytes, 0, bytes.length, { tryReserve: () => false }));
});

const COMPRESSED: [encoding: "gzip" | "deflate", compress: (bytes: Buffer) => Buffer][] = [
  ["gzip", gzipSync],
  ["deflate", deflateSync],
];

for (const [encoding, compress] of COMPRESSED) {
  t.test(`messages are read, both compressed with ${encoding} and uncompressed`, async (t) => {
    const reader = new GrpcMessageReader(MAX);
    reader.encoding = encoding;
    const text = "hello ".repeat(1_000);
    t.same(read(reader, Buffer.concat([message(compress(Buffer.from(text)), 1), message(Buffer.from("plain"))])), [
      text,
      "plain",
    ]);
  });

  t.test(`a small ${encoding} message that expands beyond the limit is refused`, async (t) => {
    const reader = new GrpcMessageReader(MAX);
    reader.encoding = encoding;
    const bomb = message(compress(Buffer.alloc(MAX + 1)), 1);
    t.ok(bomb.length < 1_000);
    t.throws(() => read(reader, bomb), { code: Code.RESOURCE_EXHAUSTED });
  });
}

t.test("a message that is large when decompressed is returned later, and the messages after it wait", async (t) => {
  const { promise: isReady, resolve: onMessageReady } = deferred();
  const reader = new GrpcMessageReader(MAX, { onMessageReady });
  reader.encoding = "gzip";
  const text = "c".repeat(MAX);
  const compressed = gzipSync(text);
  const bytes = Buffer.concat([message(gzipSync("small"), 1), message(compressed, 1), message(Buffer.from("plain"))]);
  t.same(read(reader, bytes), ["small"]);
  t.equal(reader.isBusy, true);
  t.ok(reader.held >= compressed.length);
  await isReady;
  t.ok(reader.held >= MAX);
  t.same([`${reader.next()}`, `${reader.next()}`, reader.next()], [text, "plain", undefined]);
  t.equal(reader.held, 0);
});

t.test("a small message that expands far beyond the limit is refused later", async (t) => {
  const { promise: isReady, resolve: onMessageReady } = deferred();
  const reader = new GrpcMessageReader(MAX, { onMessageReady });
  reader.encoding = "gzip";
  t.same(read(reader, message(gzipSync(Buffer.alloc(MAX + 1)), 1)), []);
  await isReady;
  t.throws(() => reader.next(), { code: Code.RESOURCE_EXHAUSTED });
});

t.test("the memory of messages that wait for decompression is limited", async (t) => {
  const bytes = gzipSync(randomBytes(2 ** 20), { level: 0 });
  const results: Promise<unknown>[] = [];
  const decompressLater = () => {
    const { promise, resolve } = deferred<unknown>();
    if (decompress("gzip", bytes, 2 ** 21, resolve) === undefined) results.push(promise);
  };
  t.throws(
    () => {
      for (let count = 0; count < 100; count++) decompressLater();
    },
    { code: Code.RESOURCE_EXHAUSTED },
  );
  t.ok(results.length > 60);
  for (const result of await Promise.all(results)) t.equal((result as Buffer).length, 2 ** 20);
  decompressLater();
  t.equal(((await results.at(-1)) as Buffer).length, 2 ** 20);
});

const REFUSED: [what: string, bytes: Buffer, code: Code][] = [
  ["a message above the limit", message(Buffer.alloc(MAX + 1)), Code.RESOURCE_EXHAUSTED],
  ["only the prefix of such a message", message(Buffer.alloc(MAX + 1)).subarray(0, 5), Code.RESOURCE_EXHAUSTED],
  ["an unknown flag", message(Buffer.from("a"), 2), Code.INTERNAL],
  ["a compressed message without an encoding", message(gzipSync(Buffer.from("a")), 1), Code.INTERNAL],
];

for (const [what, bytes, code] of REFUSED) {
  t.test(`refuses ${what}`, async (t) => t.throws(() => read(new GrpcMessageReader(MAX), bytes), { code }));
}

t.test("refuses a message that is not compressed in its encoding", async (t) => {
  const reader = new GrpcMessageReader(MAX);
  reader.encoding = "gzip";
  t.throws(() => read(reader, message(Buffer.from("not gzip"), 1)), { code: Code.INTERNAL });
});
