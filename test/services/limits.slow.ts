// Maximum numbers of stored entries in built-in services that take long to reach.
import t from "tap";
import { parts as eventParts } from "../../services/event/event.js";
import { parts as listsParts } from "../../services/lists/lists.js";
import { Code } from "../../src/errors.js";
import { serveCatalogue } from "../support/catalogue.js";
import { FULL } from "../support/full.js";

t.test("a full list refuses a push as a whole", async (t) => {
  const { call } = serveCatalogue(t, "lists", listsParts);
  const items = Array(64).fill("x");
  for (let length = 0; length + 64 <= 10_000; length += 64) await call("Push", { list: "full", items });
  t.equal((await call("Push", { list: "full", items: items.slice(0, 15) })).length, 9999);
  await t.rejects(call("Push", { list: "full", items: ["1", "2"] }), { code: Code.RESOURCE_EXHAUSTED });
  t.equal((await call("Push", { list: "full", items: ["1"] })).length, 10_000);
});

t.test("the last ten thousand events of a topic are stored", { skip: !FULL && "at full length only" }, async (t) => {
  const { call } = serveCatalogue(t, "event", eventParts);
  const publish = (number: number) => call("Publish", { topic: "orders", payload: { number } });
  for (let number = 1; number <= 10_001; number++) await publish(number);
  const { events } = await call("Read", { topic: "orders", limit: 1 });
  t.match(events, [{ offset: "2", payload: { number: 2 } }]);
});
