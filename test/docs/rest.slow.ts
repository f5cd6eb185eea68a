// The commands in docs/rest.md print what the page shows, at a terminal. They use examples/library,
// run by `portico dev`.
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { install, startDev } from "../cli/dev/project.js";
import { replay } from "../scenarios/transcript.js";
import { codeOf } from "./markdown.js";

const page = readFileSync("docs/rest.md", "utf8");
const folder = t.testdir({ data: {} });
const project = join(folder, "library");
cpSync("examples/library", project, { recursive: true });
install(project);

t.test("the commands of the page print what the page shows", async (t) => {
  const examples = codeOf(page, "").filter((code) => code.startsWith("$ "));
  t.ok(examples.length >= 2, `${examples.length} transcripts`);
  const dev = await startDev(t, project);
  await dev.prints(/library/);
  await dev.prints(/started/);
  await replay(t, examples.join("\n"), { url: dev.http, data: join(folder, "data") });

  const response = await fetch(`${dev.http}/openapi/library.json`);
  const document = (await response.json()) as { readonly paths: object };
  t.ok("/shelves/{shelf}/books" in document.paths, "the document has the paths");
  const run = (...args: string[]) => {
    const env = { PATH: process.env.PATH, HOME: folder, PORTICO_URL: dev.http };
    return execFileSync(process.execPath, [resolve("dist/portico.js"), ...args], { env, encoding: "utf8" });
  };
  t.match(run("describe", "library"), /GetBook/, "the command line calls the endpoints by their names");
  t.match(run("client", "library", "--lang=ts"), /getBook/, "and so do the clients that it writes");
});

t.test("the types of the example are right", async (t) => {
  const tsc = resolve("node_modules/typescript/bin/tsc");
  t.equal(execFileSync(process.execPath, [tsc, "-p", project], { encoding: "utf8" }), "");
});

t.test("the annotation on the page is the example's", async (t) => {
  const proto = readFileSync(join(project, "proto/library.proto"), "utf8").replace(/\n {6}additional_bindings .*/, "");
  const [shown = ""] = codeOf(page, "proto");
  for (const part of shown.split("\n\n"))
    t.ok(proto.includes(part.replace(/\}\n\}\n?$/, "}").replace(/^service Library \{\n/, "")), part);
});
