import t from "tap";
import { HpackDecoder } from "../../src/http2/hpack-decoder.js";
import { HpackEncoder } from "../../src/http2/hpack-encoder.js";
import { OutputBuffer } from "../../src/http2/output.js";
import type { HeaderField } from "../../src/http2/static-table.js";
import { HEADER_NAMES } from "../../src/rpc/http2/headers.js";
import { fc } from "../support/properties.js";

/** Writes a block and returns its bytes. */
function write(encoder: HpackEncoder, fill: (output: OutputBuffer) => void): Buffer {
  const output = new OutputBuffer();
  output.reserve(100_000);
  const start = output.at;
  encoder.begin(output);
  fill(output);
  return Buffer.from(output.buffer.subarray(start, output.at));
}

/** Decodes the fields of a block. */
function read(decoder: HpackDecoder, bytes: Buffer): HeaderField[] {
  return decoder.decode(bytes, 0, bytes.length).fields.map(({ name, value }) => ({ name, value }));
}

const REQUEST: HeaderField[] = [
  { name: ":method", value: "POST" },
  { name: ":path", value: "/helloworld.Helloworld/Call" },
  { name: "te", value: "trailers" },
];

t.test("a repeated list has one index for each field", async (t) => {
  const encoder = new HpackEncoder(HEADER_NAMES.indexed);
  const decoder = new HpackDecoder(16_384, HEADER_NAMES);
  const sizes = [1, 2, 3].map(() => {
    const bytes = write(encoder, (output) => encoder.list(output, "request", REQUEST));
    t.same(read(decoder, bytes), REQUEST);
    return bytes.length;
  });
  t.same(sizes.slice(1), [3, 3]);
});

t.test("a field whose value belongs to one request is never added to the table", async (t) => {
  const encoder = new HpackEncoder(HEADER_NAMES.indexed);
  const bytes = write(encoder, (output) => encoder.field(output, "authorization", "Bearer secret"));
  // Section 6.2.3: never indexed, with the static index 23 for the name.
  t.same(bytes.subarray(0, 2), Buffer.from([0x1f, 8]));
  t.same(
    write(encoder, (output) => encoder.field(output, "authorization", "Bearer secret")),
    bytes,
  );
});

t.test("a name that nearly every request has is added once, with its first value", async (t) => {
  const encoder = new HpackEncoder(HEADER_NAMES.indexed);
  const decoder = new HpackDecoder(16_384, HEADER_NAMES);
  const sizes = ["one", "two", "three"].map((value) => {
    const bytes = write(encoder, (output) => encoder.field(output, "x-request-id", value));
    t.same(read(decoder, bytes), [{ name: "x-request-id", value }]);
    return bytes.length - value.length;
  });
  t.same(sizes, [1 + 1 + "x-request-id".length + 1, 3, 3], "then by its index");
  // Section 6.2.3: never indexed. The name has the index of the newest entry, 62.
  t.same(
    write(encoder, (output) => encoder.field(output, "x-request-id", "")),
    Buffer.from([0x1f, 62 - 15, 0]),
  );
});

t.test(
  "any other name is written each time: the table could store it only with a value, which may be secret",
  async (t) => {
    const encoder = new HpackEncoder(HEADER_NAMES.indexed);
    const first = write(encoder, (output) => encoder.field(output, "x-portico-gateway", "secret"));
    t.equal(first[0], 0x10);
    t.same(
      write(encoder, (output) => encoder.field(output, "x-portico-gateway", "secret")),
      first,
    );
  },
);

t.test("a smaller table size is announced at the beginning of the next block, and applies from then on", async (t) => {
  const encoder = new HpackEncoder(HEADER_NAMES.indexed);
  write(encoder, (output) => encoder.list(output, "request", REQUEST));
  encoder.setTableSize(0);
  const bytes = write(encoder, (output) => encoder.list(output, "request", REQUEST));
  t.equal(bytes[0], 0x20, "the size, 0");
  t.same(read(new HpackDecoder(16_384, HEADER_NAMES), bytes), REQUEST, "without the table");
  encoder.setTableSize(100);
  const grown = write(encoder, (output) => encoder.list(output, "request", REQUEST));
  t.same(grown.subarray(0, 3), Buffer.from([0x20, 0x3f, 0x45]), "0 empties it, then 100");
});

t.test("the table never exceeds the default size", async (t) => {
  const encoder = new HpackEncoder(HEADER_NAMES.indexed);
  encoder.setTableSize(1_000_000);
  t.same(
    write(encoder, () => {}),
    Buffer.alloc(0),
  );
});

t.test("the decoder reads any fields that the encoder writes", async (t) => {
  const any = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) });
  // The constants are few, so that some values repeat.
  const ascii = fc.oneof(any, fc.constantFrom("a", "b"));
  const name = fc.oneof(
    fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/),
    fc.constantFrom("grpc-timeout", "platform-namespace", "x-request-id", "traceparent", "tracestate"),
  );
  const field = fc.record({ name, value: ascii });
  const step = fc.oneof(
    fc.record({ list: fc.array(field, { maxLength: 4 }) }),
    fc.record({ field }),
    fc.record({ tableSize: fc.integer({ min: 0, max: 8_192 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const encoder = new HpackEncoder(HEADER_NAMES.indexed);
      const decoder = new HpackDecoder(1_000_000, HEADER_NAMES);
      for (const step of steps) {
        if ("tableSize" in step) {
          encoder.setTableSize(step.tableSize);
          continue;
        }
        const fields = "list" in step ? step.list : [step.field];
        const bytes = write(encoder, (output) => {
          if ("list" in step) encoder.list(output, JSON.stringify(step.list), step.list);
          else encoder.field(output, step.field.name, step.field.value);
        });
        const written = fields.map(({ name, value }) => ({ name, value }));
        if (JSON.stringify(read(decoder, bytes)) !== JSON.stringify(written)) return false;
      }
      return true;
    }),
    { numRuns: 200 },
  );
  t.pass("no counterexample");
});
