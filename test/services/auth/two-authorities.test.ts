/** Two authorities on one store never write the same revision. */
import t from "tap";
import { bundleWriter, readStore } from "./writers.js";

const EACH = 200;

t.test("if two processes write to one store at the same time, both writes are stored", async (t) => {
  const folder = t.testdir();
  const startWriter = await bundleWriter(folder);
  const writers = ["a", "b"].map((name) => startWriter(folder, name, `${EACH}`));
  t.same(await Promise.all(writers.map(({ ended }) => ended)), ["0", "0"]);
  const { ids, revision } = await readStore(folder);
  t.equal(revision, 1 + 2 * (1 + EACH), "each login and change has a revision of its own");
  for (const { acknowledged } of writers) {
    t.equal(acknowledged.length, EACH);
    t.same(
      acknowledged.filter((id) => !ids.has(id)),
      [],
      "none is lost",
    );
  }
});
