/**
 * A body of 4 MiB and what is made of it take at most three times its size at any moment, whatever it is made of, and so
 * does a form. An answer of 4 MiB takes little more, and some six times its size where it is one large map. One whose JSON
 * would be many times as long is given up when that is eight times as long.
 */
import { execFileSync } from "node:child_process";
import t from "tap";
import { bundleInto } from "../support/bundle.js";
import { FORMS, SHAPES } from "./shapes.js";

/** Three times, and a tenth for what else the process does meanwhile. A body is put together of its pieces at the end. */
const MOST = { read: 3.1, write: 3.1, writeBody: 4.1 };
const MOST_OF_A_MAP = { read: 3.1, write: 4.1, writeBody: 6.1 };
const MOST_OF_A_FORM = { form: 3.1 };
const MOST_OF_ZEROS = { read: 3.1, write: 10.1, writeBody: 10.1 };

/** What was freed before goes back to the system at once (mallopt(3)), so that it is not used again unnoticed. */
const env = { ...process.env, MALLOC_MMAP_THRESHOLD_: "131072" };

const program = await bundleInto(t.testdir(), "test/json/peak.ts");

const skip = process.platform !== "linux" && "the highest resident size can be reset on Linux only";

function limitsOf(shape: string): Readonly<Record<string, number>> {
  if (shape in FORMS) return MOST_OF_A_FORM;
  return shape === "empty messages" ? MOST_OF_ZEROS : /map|struct/.test(shape) ? MOST_OF_A_MAP : MOST;
}

for (const shape of Object.keys({ ...SHAPES, ...FORMS })) {
  for (const [direction, most] of Object.entries(limitsOf(shape))) {
    t.test(`${direction} ${shape}`, { skip }, async (t) => {
      // One thread: otherwise another one may still be giving back memory while the peak is taken.
      const flags = ["--expose-gc", "--max-semi-space-size=1", "--single-threaded"];
      const output = execFileSync(process.execPath, [...flags, program, direction, shape], { env });
      const times = Number(output);
      // Less would mean that nothing was measured.
      t.ok(times > 1.2 && times < most, `${times}`);
    });
  }
}
