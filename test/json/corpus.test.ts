/**
 * Replays inputs that have broken other parsers: JSON from https://github.com/nst/JSONTestSuite (y_
 * must be accepted, n_ must be rejected), and inputs found with random bytes. Every type reads
 * every text. It accepts the text, like the reference, or says why not.
 */
import { readdirSync, readFileSync } from "node:fs";
import t from "tap";
import { JsonError } from "../../src/json/codec.js";
import { meaningOf } from "./reference.js";
import { codecOf, typeOf, types } from "./types.js";

const folder = "test/json/corpus";
const value = codecOf(typeOf("google.protobuf.Value"));
const messages = [...types].filter((type) => type.kind === "message");

for (const file of readdirSync(folder)) {
  const bytes = readFileSync(`${folder}/${file}`);
  if (file.startsWith("y_")) t.doesNotThrow(() => value.read(bytes), file);
  if (file.startsWith("n_")) t.throws(() => value.read(bytes), JsonError, file);
  t.ok(messages.every(file.endsWith(".bin") ? writesOrRefuses(bytes) : readsOrRefuses(bytes)), file);
}

function readsOrRefuses(json: Buffer) {
  return (type: (typeof messages)[number]): boolean => {
    const codec = codecOf(type);
    let wire: Uint8Array;
    try {
      wire = codec.read(json);
    } catch (error) {
      return error instanceof JsonError && error.message.length < 300;
    }
    const again = codec.read(Buffer.from(codec.write(wire)));
    return meaningOf(type, wire, types) === meaningOf(type, again, types);
  };
}

function writesOrRefuses(wire: Buffer) {
  return (type: (typeof messages)[number]): boolean => {
    const codec = codecOf(type);
    let json: string;
    try {
      json = codec.write(wire);
    } catch (error) {
      return (error as Error).constructor === Error;
    }
    try {
      return codec.write(codec.read(Buffer.from(json))) === json;
    } catch (error) {
      // An Any with an invalid type URL is written anyway, so that it does not make the response
      // fail.
      return /@type: expected the URL of a type/.test((error as Error).message);
    }
  };
}
