// Which rejected instances the registry remembers.
import t from "tap";
import { RejectedInstances } from "../../../services/registry/rejected-instances.js";
import { greeter } from "./instances.js";

t.test("at most 100 instances are remembered, for ten minutes after their last attempt", async (t) => {
  let now = 1_800_000_000_000;
  const rejected = new RejectedInstances(() => now);
  for (let index = 0; index < 101; index++) rejected.add(greeter({ id: `i${index}` }), new Error("why"));
  t.equal(rejected.list().length, 100);
  t.equal(rejected.list().at(-1)?.id, "i1", "the oldest made room");
  now += 9 * 60_000;
  rejected.add(greeter({ id: "i5" }), new Error("again"));
  now += 2 * 60_000;
  t.match(rejected.list(), [{ service: "greeter", id: "i5", error: "again" }]);
  t.equal(rejected.list().length, 1);
});
