/**
 * Every message of a service becomes JSON with the same meaning, or an error. @bufbuild/protobuf
 * reads the same meaning.
 */
import { fromBinary, toJsonString } from "@bufbuild/protobuf";
import t from "tap";
import { compileCodecs } from "../../src/json/compile.js";
import type { Wire } from "../cases/wire/encode.js";
import { notWritten } from "../cases/wire/not-written.js";
import { written, writtenWithoutZeros } from "../cases/wire/written.js";
import { OTHERWISE } from "./reference.js";
import { codecOf, typeOf, types } from "./types.js";

const withoutZeros = compileCodecs(types, { omitZeros: true });

for (const { type, title, wire, json } of written) {
  t.equal(codecOf(typeOf(type)).write(wire), json, title);
  t.same(JSON.parse(json), JSON.parse(reference({ type, title, wire }, true)), `${title}: so says the reference`);
}

for (const { type, title, wire, json } of writtenWithoutZeros) {
  t.equal(withoutZeros(typeOf(type)).write(wire), json, title);
  if (OTHERWISE.has(title)) continue;
  t.same(JSON.parse(json), JSON.parse(reference({ type, title, wire }, false)), `${title}: so says the reference`);
}

for (const { type, title, wire, because } of notWritten) {
  const codec = codecOf(typeOf(type));
  t.throws(() => codec.write(wire), because, title);
  t.equal(codecOf(typeOf("google.protobuf.StringValue")).write(Uint8Array.of(0x0a, 1, 0x61)), '"a"', `after ${title}`);
}

t.test("a text of many chunks is complete, wherever the chunks end", async (t) => {
  const codec = withoutZeros(typeOf("Lists"));
  const json = JSON.stringify({ string: Array.from({ length: 3000 }, (_, at) => `${"ä".repeat(at % 90)}${at}`) });
  t.equal(codec.write(codec.read(Buffer.from(json))), json);
});

function reference({ type, wire }: Wire, alwaysEmitImplicit: boolean): string {
  return toJsonString(typeOf(type), fromBinary(typeOf(type), wire), { registry: types, alwaysEmitImplicit });
}
