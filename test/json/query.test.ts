/** Query parameters have the same meaning as JSON with the same members. */
import t from "tap";
import { JsonError } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import { acceptedQueries, refusedQueries } from "../cases/query.js";
import { typeOf, types } from "./types.js";

const codecOf = compileCodecs(types, { omitZeros: true });

for (const { type, parameters, json } of acceptedQueries) {
  const codec = codecOf(typeOf(type));
  t.equal(codec.write(codec.readQuery(split(parameters))), json, `${type} ${parameters.join("&")}`);
}

for (const { type, parameters, because } of refusedQueries) {
  const codec = codecOf(typeOf(type));
  t.throws(() => codec.readQuery(split(parameters)), new JsonError(because), `${type} ${parameters.join("&")}`);
}

function split(parameters: readonly string[]): [name: string, value: string][] {
  return parameters.map((parameter) => {
    const equals = parameter.indexOf("=");
    return [parameter.slice(0, equals), parameter.slice(equals + 1)];
  });
}
