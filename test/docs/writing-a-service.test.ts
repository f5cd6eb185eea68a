// The statements of docs/writing-a-service.md are true, and its code is the code of this
// repository.
import { readFileSync } from "node:fs";
import t from "tap";
import { Code, httpStatus } from "../../src/errors.js";
import { codeOf, tablesOf } from "./markdown.js";

const page = readFileSync("docs/writing-a-service.md", "utf8");

t.test("the service on the page is a file whose types are checked", async (t) => {
  const code = readFileSync("test/docs/kit-example.ts", "utf8");
  const shown = code
    .replace(/"[./]+src\/kit\/index\.js"/, '"portico/service"')
    .replace(/"[./]+src\/gen\/[^"]+"/, '"./gen/helloworld.js"');
  t.same(codeOf(page, "typescript"), [shown]);
});

t.test("the page names every method of the store", async (t) => {
  const methods = readFileSync("src/kit/store.ts", "utf8").matchAll(/^ {2}(\w+)\(/gm);
  for (const [, name = ""] of methods) t.match(page, new RegExp(`^\\| .*\`${name}\\(`, "m"), name);
});

t.test("the page gives the HTTP status of every gRPC code", async (t) => {
  const rows = tablesOf(page).find(({ header }) => header.join() === "status,HTTP")?.rows ?? [];
  const onPage = new Map(rows.flatMap(([codes = "", http]) => codes.split(", ").map((code) => [code, Number(http)])));
  const codes = Object.keys(Code).filter((name) => /^[A-Z_]+$/.test(name) && name !== "OK" && name !== "UNRECOGNIZED");
  const known = new Map(codes.map((code) => [code, httpStatus(Code[code as keyof typeof Code])]));
  t.same(onPage, known);
});
