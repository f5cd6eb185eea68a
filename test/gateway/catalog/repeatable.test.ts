// A call may be repeated at another instance if its endpoint is declared free of side effects.
import t from "tap";
import { ask, deploy } from "../deployment.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());

for (const [target, repeatable] of [
  ["/probe/tell", true],
  ["/probe/call", false],
] as const) {
  t.test(target, async (t) => {
    await ask(deployment.handler, { target });
    t.equal(deployment.starts.at(-1)?.repeatable, repeatable);
  });
}
