// Content codings (RFC 9110 §8.4.1 and §12.5.3): which one is chosen, and the limits of compression
// and decompression.
import { randomBytes } from "node:crypto";
import zlib from "node:zlib";
import t from "tap";
import {
  CODING_LIST,
  type Coding,
  compress,
  compressAtOnce,
  DecompressError,
  decompress,
  preferredCoding,
} from "../../gateway/http/content-coding.js";

const HAS_ZSTD = "zstdCompress" in zlib;
const BEST: Coding = HAS_ZSTD ? "zstd" : "br";

t.test("the coding of a response", async (t) => {
  const cases: readonly (readonly [accepted: string, coding: Coding | undefined])[] = [
    ["gzip", "gzip"],
    ["br", "br"],
    ["zstd", HAS_ZSTD ? "zstd" : undefined],
    ["gzip, deflate, br", "br"],
    ["gzip, deflate, br, zstd", BEST],
    ["GZIP", "gzip"],
    ["x-gzip", "gzip"],
    ["deflate", undefined],
    ["identity", undefined],
    ["", undefined],
    ["*", BEST],
    ["*;q=0", undefined],
    ["*, br;q=0, zstd;q=0", "gzip"],
    ["gzip;q=0", undefined],
    ["gzip;q=0.000", undefined],
    ["br;q=0.5, gzip", "gzip"],
    ["br;q=0.5, gzip;q=0.5", "br"],
    ["br;q=0.001", "br"],
    ["identity;q=0, gzip;q=0.1", "gzip"],
    ["identity;q=0", undefined],
    ["identity, gzip;q=0.5", undefined],
    ["identity;q=0.5, gzip;q=0.5", "gzip"],
    ["gzip ; q=0.8 , br\t;\tq=0.9", "br"],
    ["gzip;Q=0.5", "gzip"],
    // Malformed elements do not count.
    ["gzip;q=2", undefined],
    ["gzip;q=-1", undefined],
    ["gzip;q", undefined],
    ["gzip;level=1", undefined],
    [";;,,gzip,,", "gzip"],
    // Elements after the 64th do not count either.
    [`${",".repeat(63)}gzip`, "gzip"],
    [`${",".repeat(64)}gzip`, undefined],
  ];
  for (const [accepted, coding] of cases) t.equal(preferredCoding(accepted), coding, JSON.stringify(accepted));
});

t.test("a header takes time in proportion to its length", async (t) => {
  const spaces = " ".repeat(500_000);
  const began = performance.now();
  for (const accepted of [`gzip${spaces}x`, `gzip;${spaces}x`, `${spaces}gzip${spaces};q=x`]) {
    t.equal(preferredCoding(accepted), undefined);
  }
  t.equal(preferredCoding(`gzip${spaces};${spaces}q=1${spaces}`), "gzip");
  // A regular expression that backtracks for each space takes minutes.
  t.ok(performance.now() - began < 10_000);
});

const CODINGS = CODING_LIST.split(", ") as Coding[];
const text = (size: number): Buffer =>
  Buffer.from("some words that come again and again; ".repeat(size / 38 + 1)).subarray(0, size);
const anyMemory = (): boolean => true;

for (const coding of CODINGS) {
  t.test(coding, async (t) => {
    for (const size of [1024, 16 * 1024, 16 * 1024 + 1, 300_000]) {
      const body = text(size);
      const compressed = (await compress(coding, body)) as Uint8Array;
      t.ok(compressed.length < size / 4, `${size} bytes become ${compressed.length}`);
      t.ok(
        body.equals((await decompress(coding, compressed, size, anyMemory)) as Uint8Array),
        "and are the same again",
      );
      await t.rejects(async () => decompress(coding, compressed, size - 1, anyMemory), /too large/);
    }

    t.equal(await compress(coding, randomBytes(2_000)), undefined, "what would not become smaller stays as it is");
    t.equal(await compress(coding, randomBytes(20_000)), undefined);

    for (const size of [2_000, 300_000]) {
      const whole = compressAtOnce(coding, text(size)) as Uint8Array;
      const broken: readonly (readonly [title: string, bytes: Uint8Array])[] = [
        ["cut off", whole.subarray(0, whole.length - 1)],
        ["empty", whole.subarray(0, 0)],
        ["with bytes behind it", Buffer.concat([whole, Buffer.from("more")])],
        ["with zeros behind it", Buffer.concat([whole, Buffer.alloc(3)])],
        ["something else", text(size)],
      ];
      for (const [title, bytes] of broken) {
        await t.rejects(async () => decompress(coding, bytes, size, anyMemory), /malformed/, title);
      }
    }
  });
}

t.test("memory is reserved for a body that is decompressed", async (t) => {
  const held: number[] = [];
  const hold = (bytes: number): boolean => held.push(bytes) > 0;
  await decompress("gzip", zlib.gzipSync(text(5_000)), 4_000_000, hold);
  t.same(held.splice(0), [5_000], "of a small body what it has become");
  await decompress("gzip", zlib.gzipSync(text(500_000)), 4_000_000, hold);
  t.same(held.splice(0), [4_000_000, 500_000], "of a large one first what it may become");
  t.equal(await decompress("gzip", zlib.gzipSync(text(5_000)), 4_000_000, () => false), undefined);
  t.equal(await decompress("gzip", zlib.gzipSync(text(500_000)), 4_000_000, () => false), undefined);
});

t.test("decompressing 16 KiB into 16 MiB of zeros stops at the maximum size", async (t) => {
  const bomb = zlib.gzipSync(Buffer.alloc(16 * 1024 ** 2));
  const error = await Promise.resolve(decompress("gzip", bomb, 1024 ** 2, anyMemory)).catch((thrown) => thrown);
  t.type(error, DecompressError);
  t.equal(error.reason, "too large");
});

t.test("a body is not compressed while too many bytes wait for compression", async (t) => {
  const body = text(3 * 1024 ** 2);
  const all = Array.from({ length: 8 }, () => compress("gzip", body));
  t.equal(all.filter((one) => one === undefined).length, 3, "five of 3 MiB wait");
  for (const one of await Promise.all(all)) if (one !== undefined) t.ok(one.length < body.length);
  t.type(await compress("gzip", body), Uint8Array, "and are done later");
});

t.test(
  "a body is not decompressed while others together may become too large, even if their clients have gone",
  async (t) => {
    const body = zlib.gzipSync(text(100_000));
    const maxBytes = 64 * 1024 ** 2;
    const all = Array.from({ length: 6 }, () => decompress("gzip", body, maxBytes, anyMemory));
    t.equal(all.filter((one) => one === undefined).length, 2, "four that may become 64 MiB are under way");
    t.type(
      decompress("gzip", zlib.gzipSync(text(5_000)), maxBytes, anyMemory),
      Uint8Array,
      "small ones are done at once",
    );
    for (const one of await Promise.all(all)) if (one !== undefined) t.equal(one.length, 100_000);
    const malformed = body.subarray(0, 200);
    for (let count = 0; count < 6; count++) {
      await t.rejects(async () => decompress("gzip", malformed, maxBytes, anyMemory), /malformed/);
    }
    t.ok((await decompress("gzip", body, maxBytes, anyMemory)) !== undefined, "later there is");
  },
);
