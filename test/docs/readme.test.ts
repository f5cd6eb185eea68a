// What README.md shows is what happens. Its service is tested in test/docs/readme.slow.ts.
import { readFileSync } from "node:fs";
import t from "tap";
import { filesOf } from "../../cli/new/files.js";
import packageJson from "../../package.json" with { type: "json" };
import { replayInOneProcess } from "../scenarios/one-process.js";
import { codeOf } from "./markdown.js";

const readme = readFileSync("README.md", "utf8");

/** Removes comments from code, and joins it to one line. */
const bare = (code = "") =>
  code
    .replace(/^ *(?:\/\/|\/\*\*).*\n/gm, "")
    .replace(/\s+/g, " ")
    .trim();

t.test("the two commands are scripts of package.json, and CI runs the second one", async (t) => {
  const [commands = ""] = codeOf(readme, "");
  const names = [...commands.matchAll(/^npm (\w+)/gm)].map(([, name = ""]) => name);
  t.same(names, ["start", "test"]);
  for (const name of names) t.ok(name in packageJson.scripts, name);
  t.match(readFileSync(".ci/run", "utf8"), /^step \d+ "npm test"$/m);
});

t.test("the contract and the handler are what `portico new greeter` writes, without comments", async (t) => {
  const files = filesOf("greeter");
  const [contract] = codeOf(readme, "proto");
  const [handler] = codeOf(readme, "ts");
  t.equal(bare(contract), bare(files.get("proto/greeter.proto")));
  t.equal(bare(handler), bare(files.get("greeter.ts")));
});

t.test("the first call, and the access commands after a login, print what the page shows", async (t) => {
  const [call = "", , access = ""] = codeOf(readme, "console");
  const login = `$ portico login
Account: (admin) «»
Password: «{password}» hidden
Logged in to http://127.0.0.1:8080 as admin (namespace default)
`;
  await replayInOneProcess(t, { transcript: [call, login, access].join("\n") });
});
