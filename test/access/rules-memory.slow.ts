// Rules take little memory, and deleted rules leave none in use.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { Access, RuleSet } from "../../src/access/decide/rules.js";
import { Rule } from "../../src/gen/portico/auth/v1/rules.js";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

function heap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

t.test("a hundred thousand rules that are created and deleted leave no memory in use", async (t) => {
  const set = new RuleSet();
  const before = heap();
  for (let index = 0; index < 100_000; index++) {
    const star = index % 2 === 0 ? "*" : "";
    const resource = `t${index}${star}:n${index}${star}:e${index}${star}`;
    set.add({ id: "r", scope: "staff", access: Access.GRANTED, resource, priority: 0, disabled: false });
    set.delete("r");
  }
  const grown = heap() - before;
  t.ok(grown < 4, `${grown.toFixed(1)} MiB more`);
  t.equal(set.size, 0);
});

t.test("rules with different patterns take at most 420 bytes each", async (t) => {
  const count = 100_000;
  const before = heap();
  const set = new RuleSet();
  for (let index = 0; index < count; index++) {
    const resource = `service:service${index % 1_000}:Endpoint${index}.Call`;
    const rule = {
      id: `rule${index}`,
      scope: `team${index % 100}`,
      access: Access.GRANTED,
      resource,
      priority: 0,
      disabled: false,
    };
    set.add(Rule.decode(Rule.encode(rule).finish())); // As a guard gets them.
  }
  const bytes = ((heap() - before) * 2 ** 20) / count;
  t.ok(bytes <= 420, `${bytes.toFixed(0)} bytes`);
  t.equal(set.size, count);
});
