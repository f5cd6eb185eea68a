// The export of the numbers of calls begins with the oldest that are kept.
import t from "tap";
import { openInstallation } from "./configuration/servers.js";

const HOUR = 3_600_000;

t.test("by day, the first line may begin in the middle of a day", async (t) => {
  const { run } = await openInstallation(t);
  for (const hours of [1, 12, 23]) {
    const from = new Date(Date.now() - (30 * 24 - hours) * HOUR).toISOString();
    const { exit, stderr } = await run("auth", "export", "usage", "--every", "day", "--from", from);
    t.equal(exit, 0, `${from}: ${stderr}`);
  }
});
