/** A body of 4 MiB and what is made of it take at most three times its size at any moment, and a little for a map's keys. */
import { execFileSync } from "node:child_process";
import t from "tap";

const MOST = 3;
const MOST_FOR_MAPS = 4;

const skip = process.platform !== "linux" && "the highest resident size can be reset on Linux only";

t.test("memory at the peak", { skip }, async (t) => {
  const flags = ["--expose-gc", "--max-semi-space-size=1", "--import=tsx"];
  const lines = execFileSync(process.execPath, [...flags, "test/json/peak.ts"], { encoding: "utf8" })
    .trim()
    .split("\n");
  t.equal(lines.length, 10);
  for (const line of lines) {
    const times = Number(line.split(": ")[1]);
    // Less than half would mean that nothing was measured.
    t.ok(times > 0.5 && times < (line.includes("map") ? MOST_FOR_MAPS : MOST), line);
  }
});
