// Generated code reads and writes messages with src/wire, not with the library, and does not copy
// the bytes that it has written. Code that all messages need exists once, in src/wire/message.ts.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

const generated = readdirSync("src/gen", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => ({ name, code: readFileSync(join("src/gen", name), "utf8") }))
  .filter(({ code }) => /\bBinaryWriter\b/.test(code));

const namesOf = (found: typeof generated) => found.map(({ name }) => name);

t.ok(generated.length > 10, "generated files that write messages are found");

t.test("the reader and the writer are those of src/wire", async (t) => {
  const own = (code: string) => /\/wire\/reader\.js"/.test(code) && /\/wire\/writer\.js"/.test(code);
  t.same(namesOf(generated.filter(({ code }) => !own(code))), []);
  t.same(namesOf(generated.filter(({ code }) => code.includes("@bufbuild/protobuf/wire"))), []);
});

t.test("a written message is not copied", async (t) => {
  t.same(namesOf(generated.filter(({ code }) => /Buffer\.from\(\w+\.encode\(/.test(code))), []);
});

t.test("no message has code of its own for its depth and for unknown fields", async (t) => {
  const repeats = /__tsProtoDecodeDepth|message\._unknownFields!?\[|Object\.entries\(message\._unknownFields\)/;
  t.same(namesOf(generated.filter(({ code }) => repeats.test(code))), []);
  t.same(
    namesOf(generated.filter(({ code }) => !/\bopenMessage\(|\bwriteUnknownFields\(/.test(code))),
    [],
    "but that of all",
  );
});
