/**
 * A body of 4 MiB and what is made of it take at most three times its size at any moment, whatever it is made of. So does
 * an answer of 4 MiB, and a little more where it is one large map.
 */
import { execFileSync } from "node:child_process";
import t from "tap";
import { SHAPES } from "./shapes.js";

/** Three times, and a tenth for what else the process does meanwhile. */
const MOST = 3.1;
const MOST_TO_WRITE_A_MAP = 4.1;

/** What was freed before goes back to the system at once (mallopt(3)), so that it is not used again unnoticed. */
const env = { ...process.env, MALLOC_MMAP_THRESHOLD_: "131072" };

const skip = process.platform !== "linux" && "the highest resident size can be reset on Linux only";

for (const shape of Object.keys(SHAPES)) {
  for (const direction of ["read", "write"]) {
    t.test(`${direction} ${shape}`, { skip }, async (t) => {
      // One thread: otherwise another one may still be giving back memory while the peak is taken.
      const flags = ["--expose-gc", "--max-semi-space-size=1", "--single-threaded", "--import=tsx"];
      const output = execFileSync(process.execPath, [...flags, "test/json/peak.ts", direction, shape], { env });
      const times = Number(output);
      const most = direction === "write" && /map|struct/.test(shape) ? MOST_TO_WRITE_A_MAP : MOST;
      // Less would mean that nothing was measured.
      t.ok(times > 1.2 && times < most, `${times}`);
    });
  }
}
