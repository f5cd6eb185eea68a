// The header Date follows the clock, also after the clock was set back.

import t from "tap";
import { replaceClock } from "../../support/clock.js";
import { dial, get, open } from "./dial.js";

const NOON = Date.UTC(2026, 10, 29, 12);
const HOUR_MS = 3_600_000;

t.test("each response says the time of the clock", async (t) => {
  let now = NOON;
  replaceClock(t, Date, () => now);
  const gateway = await open(t, () => ({ status: 200, headers: [], body: ".", length: 1 }));
  for (const time of [NOON, NOON + HOUR_MS, NOON + 1_000]) {
    now = time;
    const client = await dial(gateway);
    client.socket.write(get("/"));
    t.match(await client.until(/\r\n\r\n\.$/), `Date: ${new Date(time).toUTCString()}\r\n`);
    client.socket.destroy();
  }
});
