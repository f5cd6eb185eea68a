// Rules that come and go leave nothing behind.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { Access, RuleSet } from "../../src/access/rules.js";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

function heap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

t.test("a hundred thousand rules, one after the other", async (t) => {
  const set = new RuleSet();
  const before = heap();
  for (let index = 0; index < 100_000; index++) {
    const star = index % 2 === 0 ? "*" : "";
    const resource = `t${index}${star}:n${index}${star}:e${index}${star}`;
    set.add({ id: "r", scope: "staff", access: Access.GRANTED, resource, priority: 0 });
    set.delete("r");
  }
  const grown = heap() - before;
  t.ok(grown < 4, `${grown.toFixed(1)} MiB more`);
  t.equal(set.size, 0);
});
