// `writeBody` returns the same text as `write`: as a string if it is short and ASCII, otherwise as
// bytes.
import { Buffer } from "node:buffer";
import t from "tap";
import { notWritten } from "../cases/wire/not-written.js";
import { written } from "../cases/wire/written.js";
import { codecOf, typeOf } from "./types.js";

const lists = codecOf(typeOf("Lists"));
const wireOf = (element: string, count: number) =>
  lists.read(Buffer.from(JSON.stringify({ string: Array(count).fill(element) })));

const cases: [title: string, element: string, count: number, isString: boolean][] = [
  ["short", "text", 10, true],
  ["longer than 16 KiB", "text of 20 characters", 1000, false],
  ["many blocks", "text of 20 characters", 50_000, false],
  ["many blocks, six times as long as the wire", "\u0001".repeat(20), 20_000, false],
  ["short, not ASCII", "ä", 1, false],
  ["many blocks, not ASCII", "a ä 漢字 😀", 50_000, false],
  ["many blocks, ASCII at the end", `${"ä".repeat(40_000)}${"a".repeat(70_000)}`, 2, false],
];

for (const [title, element, count, isString] of cases) {
  t.test(title, async (t) => {
    const wire = wireOf(element, count);
    const body = lists.writeBody(wire);
    t.equal(typeof body === "string", isString);
    t.equal(body.toString(), lists.write(wire));
    lists.writeBody(wireOf("another", 20_000));
    t.equal(body.toString(), lists.write(wire), "the next one leaves it alone");
  });
}

for (const { type, title, wire, json } of written) {
  t.equal(codecOf(typeOf(type)).writeBody(wire).toString(), json, title);
}

for (const { type, title, wire, because } of notWritten) {
  t.throws(() => codecOf(typeOf(type)).writeBody(wire), because, title);
}
