// The acknowledgement protocol with 1,000 guards on bad links, and three authorities with the real
// code that are killed and start again.
import t from "tap";
import { leaseSpan } from "../../../services/auth/log/leases/lease-records.js";
import { FULL } from "../../support/full.js";
import { type Figures, LEASES, type Setting, simulate } from "./simulation.js";

const SECONDS = FULL ? 60 : 12;
/**
 * Time for reads of the lease records while a change waits, in milliseconds. A read takes some
 * milliseconds, and at most 100 ms pass between two.
 */
const READING = 300;

async function run(setting: Setting): Promise<Figures> {
  const figures = await simulate(setting);
  const { changes, times, wrongful, leases, kills } = figures;
  const at = (share: number): string =>
    `${((times[Math.floor(share * (times.length - 1))] ?? 0) / 1_000).toFixed(2)} s`;
  process.stderr.write(
    `note: seed ${setting.seed}: ${setting.guards} guards, ${setting.seconds} s, ${leases} leases, ${kills} kills; ${changes} changes ` +
      `acknowledged after p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, max ${at(1)}; ${wrongful} wrongful decisions\n`,
  );
  return figures;
}

for (const seed of FULL ? [1, 2] : [1]) {
  t.test(`seed ${seed}: with a store that stalls, no guard decides without an acknowledged change`, async (t) => {
    const { changes, wrongful } = await run({ seed, guards: 1_000, seconds: SECONDS });
    t.equal(wrongful, 0);
    t.ok(changes > 0, "changes are acknowledged");
  });
}

t.test("several authorities on a file: no guard decides without an acknowledged change", async (t) => {
  const { changes, wrongful } = await run({ seed: 5, guards: 100, seconds: 5 * SECONDS, isLocal: true });
  t.equal(wrongful, 0);
  t.ok(changes > 0, "changes are acknowledged");
});

t.test("each change is acknowledged within the span of the longest lease plus the time for reads", async (t) => {
  const { times, wrongful } = await run({ seed: 3, guards: 100, seconds: 5 * SECONDS, stalls: 0 });
  t.equal(wrongful, 0);
  const bound = 1.05 * leaseSpan(Math.max(...LEASES)) + READING;
  t.ok((times.at(-1) ?? 0) <= bound, `${times.at(-1)} of ${bound} ms`);
});

for (const isLocal of [false, true]) {
  const where = isLocal ? "on a file" : "on a server";
  t.test(`${where}, the simulation notices a change that does not wait for other authorities' leases`, async (t) => {
    const { wrongful } = await run({ seed: 4, guards: 50, seconds: 15, waitsForOthers: false, isLocal });
    t.ok(wrongful > 0);
  });
}
