// The log of a role is text after the banner on a terminal, and JSON lines elsewhere.
import { PassThrough } from "node:stream";
import t from "tap";
import { openRoleLog } from "../../../cli/roles/log.js";
import type { Io } from "../../../cli/terminal/io.js";

function terminal(env: NodeJS.ProcessEnv = { NO_COLOR: "1" }) {
  const stderr = Object.assign(new PassThrough({ encoding: "utf8" }), { isTTY: true });
  const { log, show } = openRoleLog("info", { stderr, env } as unknown as Io);
  const shown = () => (stderr.read() as string | null)?.replace(/\d\d:\d\d:\d\d/g, "hh:mm:ss") ?? "";
  return { log, show, shown };
}

t.test("nothing is shown before the banner, and then everything", async (t) => {
  const { log, show, shown } = terminal();
  log.info("first");
  t.equal(shown(), "");
  show();
  log.warn("second");
  t.equal(shown(), "  hh:mm:ss info  first\n  hh:mm:ss warn  second\n");
});

t.test("fields and errors are shown after the message", async (t) => {
  const { log, show, shown } = terminal();
  show();
  log.warn({ err: new Error("no route"), authority: "127.0.0.1:8081", retryMs: 100, why: "two words" }, "not reached");
  t.equal(shown(), '  hh:mm:ss warn  not reached (no route) authority=127.0.0.1:8081 retryMs=100 why="two words"\n');
  log.info({ endpoint: "helloworld:Helloworld.Call", status: 200 });
  t.equal(shown(), "  hh:mm:ss info  endpoint=helloworld:Helloworld.Call status=200\n");
});

t.test("errors are red on a terminal with colours, and control characters are shown as escapes", async (t) => {
  const { log, show, shown } = terminal({});
  show();
  log.error("over");
  t.equal(shown(), "\u001b[31m  hh:mm:ss error over\u001b[39m\n");
  log.warn("\u001b[2Jgone");
  t.equal(shown(), "  hh:mm:ss warn  \\u001b[2Jgone\n");
});
