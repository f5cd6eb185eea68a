// How long a call may take: the caller's timeout, otherwise the setting, and never more than the
// maximum.
import t from "tap";
import { ask, deploy } from "../deployment.js";

const deployment = await deploy(t.testdir(), { flags: { callTime: "20s", maxCallTime: "40s" } });
t.teardown(() => deployment.close());

const cases: [timeout: string | undefined, seconds: number][] = [
  [undefined, 20],
  ["5S", 5],
  ["5000m", 5],
  ["9000000u", 9],
  ["30S", 30],
  ["1M", 40],
  ["99999999H", 40],
];

for (const [timeout, seconds] of cases) {
  t.test(timeout ?? "not asked for", async (t) => {
    const headers = timeout === undefined ? [] : ["Grpc-Timeout", timeout];
    await ask(deployment.handler, { target: "/probe/tell", headers });
    const left = Number(deployment.starts.at(-1)?.deadlineMonotonicMs) - performance.now();
    t.ok(left <= seconds * 1000 && left > seconds * 1000 - 2000, `${left} ms left`);
  });
}
