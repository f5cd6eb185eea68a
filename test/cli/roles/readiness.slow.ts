// A gateway prints whether it can serve, with the reason if it cannot, and prints it again when
// that changes.

import { once } from "node:events";
import t, { type Test } from "tap";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { type Portico, start } from "../../support/process.js";

const data = await installation(t.testdir());
const first = await start(["authority"], { PORTICO_DATA: data });
const grpc = first.address("gRPC");
t.teardown(() => first.stop());

async function gateway(t: Test, env: Record<string, string>, ...flags: string[]): Promise<Portico> {
  const started = await start(["gateway", ...flags], { PORTICO_DATA: data, PORTICO_AUTHORITY: grpc, ...env });
  t.teardown(() => started.stop());
  return started;
}

/** Waits until the printed output matches. */
async function prints(portico: Portico, text: RegExp): Promise<void> {
  while (!text.test(portico.output())) {
    await once(portico.child.stdout!, "data", { signal: AbortSignal.timeout(30_000) });
  }
}

t.test("prints Ready when it can serve", async (t) => {
  const { output } = await gateway(t, {});
  t.match(output(), new RegExp(`^ *Authority +${grpc}$`, "m"));
  t.match(output(), /^ {2}Ready\. Ctrl-C stops it\.$/m);
  t.notMatch(output(), /Not ready/);
});

t.test("prints that the authority does not accept its enrolment token", async (t) => {
  const { output } = await gateway(t, { PORTICO_ENROLMENT: "pte_0000000000" });
  t.match(output(), new RegExp(`^ {2}Not ready: the authority at ${grpc} does not accept the enrolment token`, "m"));
  t.match(output(), /Calls are refused with 503/);
  t.notMatch(output(), /^ *Ready/m);
});

for (const flags of [[], ["--workers=2"]]) {
  t.test(
    `follows an authority that is missing, then starts, then dies: ${flags.join() || "one process"}`,
    async (t) => {
      const address = `127.0.0.1:${await freePort()}`;
      const folder = await installation(t.testdir());
      const own = { PORTICO_DATA: folder, PORTICO_AUTHORITY: address };
      const waiting = await gateway(t, own, ...flags);
      t.match(waiting.output(), new RegExp(`Not ready: the authority at ${address} cannot be reached: .*ECONNREFUSED`));
      const authority = await start(["authority"], {
        PORTICO_DATA: folder,
        PORTICO_GRPC: address,
        PORTICO_LEASE: "1s",
      });
      t.teardown(() => authority.stop());
      await prints(waiting, /^ {2}Ready\./m);
      await authority.stop("SIGKILL");
      await prints(waiting, /Ready\.[\s\S]*Not ready: the authority at/);
    },
  );
}
