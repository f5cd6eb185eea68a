/** docs/operating.md has no row that is not played, and each row has something to do. */
import t from "tap";
import { commandsIn, ROWS } from "./incident.js";
import { PLAYS } from "./incidents/all.js";

t.test("each row of the tables is played", async (t) => {
  t.ok(ROWS.length > 20);
  t.same(ROWS.map(({ what }) => what).sort(), Object.keys(PLAYS).sort());
  for (const row of ROWS) t.ok(commandsIn(row).length > 0 || /newer version$/.test(row.what), row.what);
});
