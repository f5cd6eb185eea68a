/** JSON that does not fit is refused with the place and what was expected there, and little of it is repeated. */
import t from "tap";
import { JsonError } from "../../src/json/codec.js";
import { refused } from "../cases/json.js";
import { codecOf, typeOf } from "./types.js";

const maps = codecOf(typeOf("Maps"));

for (const { type: name, json, because } of refused) {
  const codec = codecOf(typeOf(name));
  const text = Buffer.from(json);
  const title = `${name} ${text.toString("utf8", 0, 100)}`;
  t.throws(() => codec.read(text), new JsonError(because), title);
  // What was begun when it was refused is forgotten.
  t.equal(
    Buffer.from(maps.read(Buffer.from('{"string":{"a":"b"}}'))).toString("hex"),
    "0a060a0161120162",
    `after ${title}`,
  );
}
