// The error of a call shows the HTTP status and the request ID, with which an operator finds it in
// the log. With -o json it is JSON.

import t from "tap";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { portico } from "./command-line.js";

const server = await start(["server"], { PORTICO_DATA: await installation(t.testdir()), PORTICO_LOG_LEVEL: "info" });
t.teardown(() => server.stop());
const env = { PORTICO_URL: server.address("HTTP") };

t.test("the request ID in the error is the one in the log", async (t) => {
  const { stderr } = await portico(["helloworld", "cal"], { env });
  const [, id] =
    /^No endpoint at \/helloworld\/cal; did you mean \/helloworld\/Call\?\nHTTP 404, request (\S+)\n$/.exec(stderr) ??
    [];
  t.ok(id, stderr);
  while (!server.errors().includes(`"requestId":"${id}"`))
    await new Promise((resolve) => server.child.stderr?.once("data", resolve));
});

const rows: [args: string, exit: number, error: object][] = [
  ["helloworld cal -o json", 1, { Id: "helloworld", Code: 404, Status: "Not Found", RequestId: String, Exit: 1 }],
  ["-o json helloworld cal", 1, { Id: "helloworld", Code: 404, Exit: 1 }],
  ["describe helloword --output=json", 1, { Detail: /; did you mean helloworld\?$/, Code: 404, RequestId: String }],
  ["auth list rules -ojson", 4, { Detail: /^Not logged in to /, Exit: 4 }],
  ["auth lst rules -o json", 2, { Detail: /^Unknown command 'lst'\n\(Did you mean list\?\)$/, Exit: 2 }],
  ["auth delete rule --dryrun x -o json", 2, { Detail: "Unknown option '--dryrun'\n(Did you mean --dry-run?)" }],
  ["auth create rule --acces=x -o json", 2, { Detail: "Unknown option '--acces'\n(Did you mean --access?)" }],
  ["auth list -o json", 2, { Detail: /^Unknown option '-o'/, Exit: 2 }],
  ["services --url=localhost:1 -o json", 2, { Detail: /^The address "localhost:1" must be like/, Exit: 2 }],
  ["services --url=http://127.0.0.1:1 -o json", 1, { Detail: /^Portico does not respond/, Exit: 1 }],
];
for (const [args, exit, error] of rows) {
  t.test(`portico ${args} prints one JSON object on stderr`, async (t) => {
    const outcome = await portico(args.split(" "), { env });
    t.equal(outcome.exit, exit);
    t.equal(outcome.stdout, "");
    t.equal(outcome.stderr.trimEnd().split("\n").length, 1, outcome.stderr);
    t.match(JSON.parse(outcome.stderr), error);
  });
}
