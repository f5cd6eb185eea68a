/**
 * JSON that does not fit is rejected with the place and the expected value. The error quotes little
 * of it.
 */
import t from "tap";
import { JsonError } from "../../src/json/codec.js";
import { malformed } from "../cases/json/malformed.js";
import { refused } from "../cases/json/refused.js";
import { collect, keptBeyond } from "./kept.js";
import { codecOf, typeOf } from "./types.js";

const maps = codecOf(typeOf("Maps"));

for (const { type: name, json, because } of [...refused, ...malformed]) {
  const codec = codecOf(typeOf(name));
  const text = Buffer.from(json);
  const title = `${name} ${text.toString("utf8", 0, 100)}`;
  t.throws(() => codec.read(text), new JsonError(because), title);
  // An error leaves no state behind: the next text is read as usual.
  t.equal(
    Buffer.from(maps.read(Buffer.from('{"string":{"a":"b"}}'))).toString("hex"),
    "0a060a0161120162",
    `after ${title}`,
  );
}

t.test("an error inside a map leaves no keys in memory", async (t) => {
  const keys = Array.from({ length: 5000 }, (_, at) => `"${at}":0`);
  const body = Buffer.from(`{"int32":{${keys.join()},"x":0}}`);
  const refuse = (times: number): void => {
    for (let time = 0; time < times; time++) t.throws(() => maps.read(body));
  };
  refuse(10);
  collect();
  const before = process.memoryUsage().arrayBuffers;
  refuse(100);
  // The offsets of the keys of one map take 32 KiB.
  const max = 512 * 1024;
  t.ok((await keptBeyond(before, max)) < max);
});
