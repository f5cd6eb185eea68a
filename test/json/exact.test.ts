/**
 * JSON is read exactly, and the same JSON is written. @bufbuild/protobuf reads the same meaning.
 */
import { fromJsonString, toBinary } from "@bufbuild/protobuf";
import t from "tap";
import { compileCodecs } from "../../src/json/compile.js";
import { accepted } from "../cases/json/accepted.js";
import { meaningOf } from "./reference.js";
import { typeOf, types } from "./types.js";

// Other tests check zeros.
const codecOf = compileCodecs(types, { omitZeros: true });

for (const { type: name, json, again = json } of accepted) {
  const type = typeOf(name);
  const codec = codecOf(type);
  const title = `${name} ${json.slice(0, 100).replaceAll(/[\u2028\u2029]/g, "?")}`; // tap would see these as line ends
  const wire = codec.read(Buffer.from(json));
  t.equal(codec.write(wire), again, title);

  const reference = toBinary(type, fromJsonString(type, again, { registry: types }));
  t.equal(meaningOf(type, wire, types), meaningOf(type, reference, types), `${title}: the reference reads the same`);
  t.equal(codec.write(reference), again, `${title}: what the reference encodes is written the same`);
}
