/**
 * A body of 4 MiB and its result together take at most three times the body's size at any moment,
 * for every shape of body and for forms. A response of 4 MiB takes little more, but some six times
 * its size if it is one large map. If the JSON of a response would be much longer, writing stops at
 * eight times its size.
 */
import { execFileSync } from "node:child_process";
import t from "tap";
import { bundleInto } from "../support/bundle.js";
import { sampleOf } from "../support/full.js";
import { FORMS, SHAPES } from "./shapes.js";

/**
 * Three times the size, and a tenth for the rest of the process. `writeBody` joins the chunks of a
 * body at the end.
 */
const MAX = { read: 3.1, write: 3.1, writeBody: 4.1 };
const MAX_OF_A_MAP = { read: 3.1, write: 4.1, writeBody: 6.1 };
const MAX_OF_A_FORM = { form: 3.1 };
const MAX_OF_ZEROS = { read: 3.1, write: 10.1, writeBody: 10.1 };

/**
 * Memory that was freed goes back to the operating system at once (mallopt(3)), so that it is not
 * used again without being measured.
 */
const env = { ...process.env, MALLOC_MMAP_THRESHOLD_: "131072" };

const program = await bundleInto(t.testdir(), "test/json/peak.ts");

const skip = process.platform !== "linux" && "the highest resident size can be reset on Linux only";

function limitsOf(shape: string): Readonly<Record<string, number>> {
  if (shape in FORMS) return MAX_OF_A_FORM;
  return shape === "empty messages" ? MAX_OF_ZEROS : /map|struct/.test(shape) ? MAX_OF_A_MAP : MAX;
}

const cases = Object.keys({ ...SHAPES, ...FORMS }).flatMap((shape) =>
  Object.entries(limitsOf(shape)).map(([direction, max]) => ({ shape, direction, max })),
);
for (const { shape, direction, max } of sampleOf(cases, 3)) {
  t.test(`${direction} ${shape}`, { skip }, async (t) => {
    // One thread: otherwise another thread may still be releasing memory while the peak is
    // measured.
    const flags = ["--expose-gc", "--max-semi-space-size=1", "--single-threaded"];
    const output = execFileSync(process.execPath, [...flags, program, direction, shape], { env });
    const times = Number(output);
    // A smaller value would mean that nothing was measured.
    t.ok(times > 1.2 && times < max, `${times}`);
  });
}
