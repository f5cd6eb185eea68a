// `npm start` forwards the signal that a supervisor sends to npm's process, and the server ends.
import { spawn } from "node:child_process";
import { once } from "node:events";
import t from "tap";
import { killGroup } from "./kill-group.js";

const ports = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };

t.test("SIGTERM to npm ends the server", async (t) => {
  const { PATH = "", HOME = "" } = process.env;
  const npm = spawn("npm", ["start"], {
    env: { PATH, HOME, PORTICO_DATA: t.testdir(), ...ports },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  t.teardown(() => killGroup(npm.pid as number));
  let output = "";
  const ready = new Promise<void>((resolve) => {
    const onText = (text: string) => {
      output += text;
      if (/^ *Ready/m.test(output)) resolve();
    };
    for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding("utf8").on("data", onText);
  });
  await ready;
  const over = once(npm, "close", { signal: AbortSignal.timeout(30_000) });
  npm.kill("SIGTERM");
  await t.resolves(over, "whoever holds npm's output has ended");
  t.match(output, /"stopping"/, "in good order");
});
