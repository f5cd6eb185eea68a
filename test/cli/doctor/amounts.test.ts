// From which amount on `portico doctor` warns: of free space, of a clock's error, of Node's age.
import t from "tap";
import { compareClocks } from "../../../cli/doctor/clock.js";
import { spaceFinding } from "../../../cli/doctor/disk.js";
import { checkNode } from "../../../cli/doctor/doctor.js";

const GIB = 1024 ** 3;

const spaces: [free: number, total: number, freeFiles: number | undefined, state: string, text: RegExp][] = [
  [50 * GIB, 100 * GIB, 1e6, "ok", /^50 GiB of 100 GiB are free on the disk of \/data$/],
  [4 * GIB, 20 * GIB, 1e6, "ok", /^4096 MiB of 20 GiB are free/],
  [4 * GIB, 100 * GIB, 1e6, "warning", /: make room soon/],
  [0.05 * GIB, 0.1 * GIB, 1e6, "problem", /: make room, before the store refuses changes/],
  [50 * GIB, 100 * GIB, 0, "problem", /can hold no further files: delete some/],
  [50 * GIB, 100 * GIB, undefined, "ok", /free/],
];

for (const [free, total, freeFiles, state, text] of spaces) {
  t.test(`${free} of ${total} bytes free, ${freeFiles} files: ${state}`, async (t) => {
    t.match(spaceFinding("/data", { free, total, freeFiles }), { check: "disk", state, text });
  });
}

const clocks: [ahead: number, state: string, text: RegExp][] = [
  [0, "ok", /agrees with the database/],
  [9_000, "ok", /agrees/],
  [-9_000, "ok", /agrees/],
  [90_000, "problem", /is 90 s ahead of the database, which says 2026-01-01T00:00:00Z: set the wrong one right/],
  [-5 * 60_000, "problem", /is 5 minutes behind the database/],
  [-3 * 86_400_000, "problem", /is 3 days behind the database/],
];

for (const [ahead, state, text] of clocks) {
  t.test(`a clock that is ${ahead} ms ahead: ${state}`, async (t) => {
    const time = Date.UTC(2026, 0, 1);
    const reading = { sent: time + ahead, received: time + ahead };
    t.match(compareClocks("the database", time, reading), { check: "clock", state, text });
  });
}

t.test("a slow response does not count as a wrong clock", async (t) => {
  const time = Date.UTC(2026, 0, 1);
  t.match(compareClocks("the database", time, { sent: time - 30_000, received: time + 30_000 }), { state: "ok" });
});

for (const [version, state] of [
  ["20.19.0", "ok"],
  ["22.1.0", "ok"],
  ["20.18.9", "problem"],
  ["18.20.0", "problem"],
] as const) {
  t.test(`Node ${version}: ${state}`, async (t) => t.match(checkNode(version), { check: "versions", state }));
}
