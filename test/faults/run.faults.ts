/**
 * Tries every fault on real processes, with all safeguards and with each of its safeguards taken out, and writes the
 * table of docs/faults.md.
 *
 *     npm run test:faults
 */
import { resolve } from "node:path";
import t from "tap";
import { Cluster } from "./cluster.js";
import type { Fault, Figures } from "./fault.js";
import { openNetwork } from "./network.js";
import { REVOCATION } from "./revocation.js";
import { buildWithout } from "./variant.js";

const ONLY = process.env.FAULTS;
const FAULTS = [...REVOCATION].filter(({ title }) => ONLY === undefined || title.includes(ONLY));
const rows: string[] = [];
const skipped: string[] = [];

async function tryOn(program: string, fault: Fault, folder: string): Promise<Figures> {
  const network = openNetwork();
  const cluster = new Cluster({ program, network, folder, lease: fault.lease });
  try {
    return await fault.run(cluster);
  } finally {
    await cluster.stop();
    network.close();
  }
}

const shown = (ms: number | undefined) => (ms === undefined ? "" : `${Math.round(ms).toLocaleString("en")} ms`);

for (const [index, fault] of FAULTS.entries()) {
  const { title, safeguards } = fault;
  const reason = fault.skip?.();
  if (reason !== undefined) skipped.push(`${title}: ${reason}`);
  await t.test(title, { skip: reason ?? false }, async (t) => {
    const figures = await tryOn(resolve("dist/portico.js"), fault, t.testdir());
    const { calls, failed, wrongful, acknowledged, lastGrant, recovered } = figures;
    console.error(title, JSON.stringify(figures));
    t.equal(wrongful, 0, "no call is granted wrongly");
    t.equal(failed, 0, "no call fails that should not");
    const cells = [
      title,
      fault.lease,
      calls,
      wrongful,
      failed,
      shown(acknowledged),
      shown(lastGrant),
      shown(recovered),
    ];
    rows.push(`| ${cells.join(" | ")} |`);
    for (const [number, safeguard] of safeguards.entries()) {
      await t.test(`without its safeguard, that ${safeguard.name}`, async (t) => {
        const program = await buildWithout(safeguard, `${index}-${number}`);
        const figures = await tryOn(program, fault, t.testdir());
        console.error(safeguard.name, JSON.stringify(figures));
        const { wrongful } = figures;
        t.ok(wrongful > 0, `${wrongful} calls are granted wrongly`);
        rows.push(`| *without: ${safeguard.name}* | | | **${wrongful}** | | | | |`);
      });
    }
  });
}
