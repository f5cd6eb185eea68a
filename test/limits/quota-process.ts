/**
 * A process with an authority and guards, which count calls against a day's quota as fast as they
 * can. It prints a line for each call that was counted, and `empty` when a guard was refused. It
 * creates the limit if there is none.
 *
 *     node quota-process.mjs <data folder> <quota> <guards>
 */
import { writeSync } from "node:fs";
import type { Test } from "tap";
import { callOnce, isRefused, openLimited } from "./guards.js";

const [folder = "", quota = "", guards = ""] = process.argv.slice(2);
/** Calls at once. */
const AT_ONCE = 8;

const forever = { teardown: () => undefined } as unknown as Test;
const limited = await openLimited(forever, { folder });
await limited.create({ id: "daily", quota: `${quota}/day` }).catch(() => undefined);
const opened = await Promise.all(Array.from({ length: Number(guards) }, () => limited.guard()));

await Promise.all(
  opened.flatMap((guard) =>
    Array.from({ length: AT_ONCE }, async () => {
      for (;;) {
        if (isRefused(await callOnce(guard))) break;
        writeSync(1, "counted\n");
      }
    }),
  ),
);
writeSync(1, "empty\n");
