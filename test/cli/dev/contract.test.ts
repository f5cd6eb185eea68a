// A contract is compiled with its comments, and each error in it has its place.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { compileContract, serviceNamesOf } from "../../../cli/dev/contract.js";

const buf = resolve("node_modules/.bin/buf");
const greeter = (body: string) => `syntax = "proto3";\npackage greeter.v1;\n${body}\n`;

t.test("gives the descriptors, with comments and the names of services", async (t) => {
  const source = greeter("// Greets.\nservice Greeter {}\nmessage A {}");
  const folder = t.testdir({ proto: { "greeter.proto": source } });
  const compiled = await compileContract(buf, folder);
  if ("problems" in compiled) return t.fail(`${compiled.problems[0]?.message}`);
  t.same(serviceNamesOf(compiled.descriptors), ["greeter"]);
  const locations = compiled.descriptors.file[0]?.sourceCodeInfo?.location ?? [];
  t.same(
    locations.map((one) => one.leadingComments),
    [" Greets.\n"],
  );
});

t.test("an empty line more makes no other contract", async (t) => {
  const folder = t.testdir({ proto: { "greeter.proto": greeter("message A {}") } });
  const before = await compileContract(buf, folder);
  writeFileSync(join(folder, "proto/greeter.proto"), greeter("\n\nmessage A {}"));
  t.same(await compileContract(buf, folder), before);
});

t.test("gives each error with file, line, column and length", async (t) => {
  const folder = t.testdir({
    proto: { "a.proto": greeter("message A {\n  strng b = 1;\n}"), "b.proto": greeter('import "none.proto";') },
  });
  t.same(await compileContract(buf, folder), {
    problems: [
      {
        file: join(folder, "proto/a.proto"),
        line: 4,
        column: 3,
        length: 5,
        message: "cannot find `strng` in this scope",
      },
      { file: join(folder, "proto/b.proto"), line: 3, column: 1, length: 20, message: "imported file does not exist" },
    ],
  });
});

t.test("says that there is no .proto file", async (t) => {
  const folder = t.testdir({ proto: {} });
  t.match(await compileContract(buf, folder), { problems: [{ message: /had no \.proto files/ }] });
});
