// A google.protobuf.Any of an unknown type has its bytes in base64, for reading and writing.
import t from "tap";
import { Any } from "../../src/gen/google/protobuf/any.js";
import { compileCodecs } from "../../src/json/compile.js";
import { codecOf, typeOf, types } from "./types.js";

const codec = codecOf(typeOf("google.protobuf.Any"));
const bytesOf = (typeUrl: string, value: Buffer): Uint8Array => Any.encode({ typeUrl, value }).finish();

const BOTH: [typeUrl: string, value: Buffer, json: string][] = [
  ["type.googleapis.com/acme.Secret", Buffer.of(1, 2, 3), '{"@type":"type.googleapis.com/acme.Secret","value":"AQID"}'],
  ["a/acme.Secret", Buffer.alloc(0), '{"@type":"a/acme.Secret","value":""}'],
  // The bytes are not even a message.
  ["a/acme.Secret", Buffer.of(0xff), '{"@type":"a/acme.Secret","value":"/w=="}'],
  [
    "a/google.protobuf.Any",
    Buffer.from(bytesOf("a/acme.Secret", Buffer.of(1))),
    '{"@type":"a/google.protobuf.Any","value":{"@type":"a/acme.Secret","value":"AQ=="}}',
  ],
];

for (const [typeUrl, value, json] of BOTH) {
  t.test(json, async (t) => {
    t.equal(codec.write(bytesOf(typeUrl, value)), json);
    const read = Any.decode(Buffer.from(codec.read(Buffer.from(json))));
    t.equal(read.typeUrl, typeUrl);
    t.same(Buffer.from(read.value), value);
  });
}

t.test("`value` may come first, and may be base64url", async (t) => {
  const read = Any.decode(Buffer.from(codec.read(Buffer.from('{"value":"-_8","@type":"a/acme.Secret"}'))));
  t.same([...read.value], [0xfb, 0xff]);
});

t.test("a type URL without a slash does not make a response fail, but is rejected in a request", async (t) => {
  const json = '{"@type":"acme.Secret","value":"AQ=="}';
  t.equal(codec.write(bytesOf("acme.Secret", Buffer.of(1))), json);
  t.throws(() => codec.read(Buffer.from(json)), /^@type: expected the URL of a type/);
});

t.test("types are looked up with `findOther` at each use", async (t) => {
  let known = false;
  const other = compileCodecs(types, {
    findOther: (name) => (known && name === "acme.Other" ? typeOf("json.Optional") : undefined),
  })(typeOf("google.protobuf.Any"));
  t.equal(other.write(bytesOf("a/acme.Other", Buffer.alloc(0))), '{"@type":"a/acme.Other","value":""}');
  known = true;
  t.equal(other.write(bytesOf("a/acme.Other", Buffer.alloc(0))), '{"@type":"a/acme.Other","lastColor":"COLOR_NONE"}');
});
