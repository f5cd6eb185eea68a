// Ctrl-C and SIGTERM end a command that waits for its input, whose writer may never close it.
import { PassThrough } from "node:stream";
import t from "tap";
import { run } from "../../cli/program.js";
import { until } from "../support/until.js";
import { ioOf, NOWHERE } from "./command-line.js";

for (const args of [["mcp"], ["call", "helloworld", "Call", "-"]]) {
  t.test(`portico ${args.join(" ")}`, { timeout: 5_000 }, async (t) => {
    const { io } = ioOf({ env: { PORTICO_URL: NOWHERE } });
    const stdin = Object.assign(new PassThrough(), { isTTY: false });
    const stop = new AbortController();
    const ended = run(args, { ...io, stdin, signal: stop.signal });
    await until(() => stdin.listenerCount("readable") > 0);
    stop.abort();
    t.equal(await ended, 130);
  });
}
