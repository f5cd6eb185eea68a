/** JSON is taken to the letter, and the same letters come back; @bufbuild/protobuf agrees on what was meant. */
import { fromJsonString, toBinary } from "@bufbuild/protobuf";
import t from "tap";
import { compileCodecs } from "../../src/json/compile.js";
import { accepted } from "../cases/json/accepted.js";
import { meaningOf } from "./reference.js";
import { typeOf, types } from "./types.js";

// Zeros have a test of their own.
const codecOf = compileCodecs(types, { omitZeros: true });

for (const { type: name, json, again = json } of accepted) {
  const type = typeOf(name);
  const codec = codecOf(type);
  const title = `${name} ${json.slice(0, 100).replaceAll(/[\u2028\u2029]/g, "?")}`; // line ends to tap
  const wire = codec.read(Buffer.from(json));
  t.equal(codec.write(wire), again, title);

  const reference = toBinary(type, fromJsonString(type, again, { registry: types }));
  t.equal(meaningOf(type, wire, types), meaningOf(type, reference, types), `${title}: the reference reads the same`);
  t.equal(codec.write(reference), again, `${title}: what the reference encodes is written the same`);
}
