/**
 * The styles of JSON that a service may have: names as in the .proto file, zeros left out, and
 * unknown names passed over. @bufbuild/protobuf has the same options.
 */
import { fromBinary, fromJsonString, toBinary, toJsonString } from "@bufbuild/protobuf";
import t from "tap";
import { JsonError } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import { accepted } from "../cases/json/accepted.js";
import { ignored, notIgnored } from "../cases/json/ignored.js";
import { refused } from "../cases/json/refused.js";
import { refusedQueries } from "../cases/query.js";
import { written, writtenWithoutZeros } from "../cases/wire/written.js";
import { meaningOf, OTHERWISE } from "./reference.js";
import { codecOf, typeOf, types } from "./types.js";

const fromJson = accepted
  // The reference has no short floats.
  .filter(({ json }) => !json.includes('"float":'))
  .map(({ type, json }) => ({ type, title: json, wire: Buffer.from(codecOf(typeOf(type)).read(Buffer.from(json))) }));
const messages = [...written, ...writtenWithoutZeros, ...fromJson].filter(({ title }) => !OTHERWISE.has(title));

for (const omitZeros of [false, true]) {
  const ours = compileCodecs(types, { protoNames: true, omitZeros });
  const options = { registry: types, useProtoFieldName: true, alwaysEmitImplicit: !omitZeros };

  t.test(`names as in the .proto file, ${omitZeros ? "without" : "with"} zeros`, async (t) => {
    for (const { type: name, title, wire } of messages) {
      const [type, shown] = [typeOf(name), inLine(`${name} ${title}`)];
      const json = ours(type).write(wire);
      const theirs = toJsonString(type, fromBinary(type, wire), options);
      t.same(JSON.parse(json), JSON.parse(theirs), `${shown}: the reference writes the same`);
      const read = [json, codecOf(type).write(wire)].map((text) =>
        meaningOf(type, ours(type).read(Buffer.from(text)), types),
      );
      const meaning = meaningOf(type, wire, types);
      t.same(read, [meaning, meaning], `${shown}: both names are read`);
    }
  });
}

t.test("the body of a response that is one field has the names of the .proto file", async (t) => {
  const { fields } = typeOf("Optional");
  const wire = codecOf(typeOf("Optional")).read(Buffer.from('{"nested":{"longName":"a"},"longName":"b"}'));
  for (const [name, json] of [
    ["nested", '{"long_name":"a"}'],
    ["long_name", '"b"'],
  ]) {
    const field = fields.find((one) => one.name === name)!;
    t.equal(compileCodecs(types, { protoNames: true, omitZeros: true })(field).write(wire), json);
  }
});

const ignoring = compileCodecs(types, { ignoreUnknown: true, omitZeros: true });

t.test("what the types do not have is passed over", async (t) => {
  for (const { type: name, json, read } of ignored) {
    const type = typeOf(name);
    const title = `${name} ${json}`;
    const wire = ignoring(type).read(Buffer.from(json));
    t.equal(ignoring(type).write(wire), read, title);
    t.throws(() => codecOf(type).read(Buffer.from(json)), JsonError, "is refused by others");
    // The reference refuses names that occur twice even in values that it ignores.
    if (json.startsWith('{"x":1,"x"')) continue;
    const theirs = fromJsonString(type, json, { registry: types, ignoreUnknownFields: true });
    t.equal(meaningOf(type, wire, types), meaningOf(type, toBinary(type, theirs), types), "so says the reference");
  }
});

t.test("nothing else is passed over", async (t) => {
  for (const { type, json, because } of notIgnored) {
    t.throws(() => ignoring(typeOf(type)).read(Buffer.from(json)), { name: "JsonError", message: because }, json);
    t.throws(
      () => fromJsonString(typeOf(type), json, { registry: types, ignoreUnknownFields: true }),
      `${json}: the reference`,
    );
  }
  for (const { type, json, because } of refused) {
    if (/no such field|expected a name or number of .*got "|enough/.test(because)) continue;
    t.throws(() => ignoring(typeOf(type)).read(Buffer.from(json)), { name: "JsonError" }, `${type} ${json}`);
  }
  for (const { type, json } of accepted) {
    const [ours, usual] = [ignoring, codecOf].map((codec) => Buffer.from(codec(typeOf(type)).read(Buffer.from(json))));
    t.equal(ours!.toString("hex"), usual!.toString("hex"), inLine(json));
  }
});

t.test("the values of unknown fields count for the depth", async (t) => {
  const read = (depth: number) =>
    ignoring(typeOf("Optional")).read(Buffer.from(`{"x":${"[".repeat(depth)}${"]".repeat(depth)}}`));
  t.equal(read(63).length, 0);
  t.throws(() => read(64), { message: /nested more than 64 levels deep/ });
});

t.test("unknown query parameters", async (t) => {
  const read = (type: string, ...parameters: [string, string][]) =>
    ignoring(typeOf(type)).write(ignoring(typeOf(type)).readQuery(parameters));
  t.equal(read("Optional", ["x", "1"], ["string", "a"], ["color", "PINK"]), '{"string":"a"}');
  t.equal(read("Optional", ["nested.x", "1"]), "{}", "an unknown field does not set its message");
  t.equal(
    read("Optional", ["nested.x", "1"], ["nested.int32", "1"], ["string.x", "1"], ["[", "1"]),
    '{"nested":{"int32":1}}',
  );
  t.equal(read("WellKnown", ["timestamp.seconds", "1"]), "{}");
  t.equal(read("Lists", ["int32[0]", "1"], ["int32", "1"]), '{"int32":[1]}');
  t.equal(
    read("Maps", ["message[a].x", "1"], ["message[b].int32", "1"], ["string[a].x", "1"]),
    '{"message":{"b":{"int32":1}}}',
  );
  const stillRefused = refusedQueries.filter(
    ({ because }) => !/no such parameter|expected a name or number/.test(because),
  );
  for (const { type, parameters } of stillRefused) {
    const split = parameters.map((parameter) => parameter.split(/=(.*)/s, 2) as [string, string]);
    t.throws(() => ignoring(typeOf(type)).readQuery(split), JsonError, `${type} ${parameters}`);
  }
});

/** The beginning of a text, in which tap sees no ends of lines. */
function inLine(text: string): string {
  return text.slice(0, 100).replaceAll(/[\u2028\u2029]/g, "?");
}

const withNulls = compileCodecs(types, { nullUnset: true, protoNames: true });

t.test("a field with presence that is not set is null, as EmitUnpopulated of protojson writes it", async (t) => {
  const written = (name: string, wire: Buffer = Buffer.alloc(0)) => withNulls(typeOf(name)).write(wire);
  const implicit = JSON.parse(written("Implicit"));
  t.equal(implicit.nested, null, "a message");
  t.equal(implicit.int32, 0, "a field without presence");
  t.equal(written("Optional"), '{"last_color":"COLOR_NONE"}', "no field that is `optional` in proto3");
  t.same(JSON.parse(written("legacy.Legacy")), {
    ...{ number: null, text: null, shade: null, shades: [], packed_shades: [], by_name: {} },
    ...{ group: null, groups: [], numbers: [] },
  });
  const given = written("Implicit", Buffer.from(withNulls(typeOf("Implicit")).read(Buffer.from('{"nested":{}}'))));
  t.equal(JSON.parse(given).nested.nested, null, "a message that is set is written");
  t.throws(() => written("legacy.Needs"), /lacks the required field/);
});
