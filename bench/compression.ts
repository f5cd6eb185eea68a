/**
 * Measures the compression of a response by coding and level: processor time and size, for a list
 * of records in JSON of several sizes. `node --import tsx bench/compression.ts` prints a table. The
 * result is the minimum of several rounds that take turns.
 */
import zlib from "node:zlib";

const SIZES = [1024, 4096, 16_384, 65_536, 1_048_576];
const ROUNDS = 9;
/** Bytes that are compressed in each round. */
const ROUND_BYTES = 2 * 1024 ** 2;

/**
 * Records like those in responses of services: their IDs and times differ, but names and states
 * repeat.
 */
function listOf(size: number): Buffer {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  const records: object[] = [];
  for (let length = 0; length < size; ) {
    const record = {
      id: random(1e9).toString(36),
      name: `${["Ada", "Grace", "Edsger", "Barbara"][random(4)]} ${random(1_000)}`,
      email: `u${random(1e6)}@example.com`,
      createTime: new Date(1.7e12 + random(1e9)).toISOString(),
      balance: String(random(1e8)),
      state: ["OPEN", "CLOSED", "PENDING"][random(3)],
    };
    records.push(record);
    length += JSON.stringify(record).length + 1;
  }
  return Buffer.from(JSON.stringify({ records })).subarray(0, size);
}

type Compress = (bytes: Buffer) => Buffer;

const { constants, gzipSync, brotliCompressSync } = zlib;
const { zstdCompressSync } = zlib as never as {
  zstdCompressSync?: (bytes: Buffer, options: { params: Record<number, number>; chunkSize: number }) => Buffer;
};
const zstdLevel = (constants as never as Record<string, number>).ZSTD_c_compressionLevel as number;

/** The size of the output buffer, as in gateway/http/content-coding.ts. */
const chunkSize = ({ length }: Buffer): number => Math.max(1024, Math.min(length, 65_536));
const gzip = (level: number): [string, Compress] => [
  `gzip ${level}`,
  (bytes) => gzipSync(bytes, { level, chunkSize: chunkSize(bytes) }),
];
const br = (quality: number): [string, Compress] => [
  `br ${quality}`,
  (bytes) =>
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality }, chunkSize: chunkSize(bytes) }),
];
const zstd = (level: number): [string, Compress] => [
  `zstd ${level}`,
  (bytes) =>
    (zstdCompressSync as never as (...args: unknown[]) => Buffer)(bytes, {
      params: { [zstdLevel]: level },
      chunkSize: chunkSize(bytes),
    }),
];

const codings = [
  ...[1, 3, 6].map(gzip),
  ...[0, 1, 2, 3, 4, 5].map(br),
  ...(zstdCompressSync === undefined ? [] : [1, 3].map(zstd)),
];

function processorTime(compress: Compress, bytes: Buffer): number {
  const calls = Math.max(2, Math.round(ROUND_BYTES / bytes.length / 8));
  const { user, system } = process.cpuUsage();
  for (let call = 0; call < calls; call++) compress(bytes);
  const end = process.cpuUsage();
  return (end.user - user + end.system - system) / calls;
}

console.log(`| bytes | ${codings.map(([name]) => name).join(" | ")} |`);
for (const size of SIZES) {
  const bytes = listOf(size);
  const best = codings.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, [, compress]] of codings.entries()) {
      best[index] = Math.min(best[index] as number, processorTime(compress, bytes));
    }
  }
  const cells = codings.map(
    ([, compress], index) => `${Math.round(best[index] as number)} µs, ${compress(bytes).length} B`,
  );
  console.log(`| ${size} | ${cells.join(" | ")} |`);
}
