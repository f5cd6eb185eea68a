// A change is effective when the command returns. Sixteen connections call as fast as they can,
// while the only rule that grants their calls is deleted. A call that starts after the
// acknowledgement is never granted.

import t from "tap";
import { Pool } from "undici";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";
import { until } from "../../support/until.js";

const CONNECTIONS = 16;
/** The minimum number of calls before the deletion, and after it. */
const CALLS = 1_000;

const data = await installation(t.testdir());
const portico = await start(["server"], { PORTICO_DATA: data });
t.teardown(() => portico.stop());
const http = portico.address("HTTP");
const admin = await administrator(http, data);

const pool = new Pool(http, { connections: CONNECTIONS });
t.teardown(() => pool.close());
let acknowledged = Number.POSITIVE_INFINITY;
let stopped = false;
const seen = { grantedBefore: 0, refusedAfter: 0, grantedAfter: 0, other: 0 };

async function caller(): Promise<void> {
  while (!stopped) {
    const started = performance.now();
    const { statusCode, body } = await pool.request({ path: "/helloworld/call?name=Ada", method: "GET" });
    await body.dump();
    const after = started > acknowledged;
    if (statusCode === 200) seen[after ? "grantedAfter" : "grantedBefore"]++;
    else if (statusCode !== 401) seen.other++;
    else if (after) seen.refusedAfter++;
  }
}

const callers = Array.from({ length: CONNECTIONS }, caller);
await until(() => seen.grantedBefore >= CALLS, { what: () => `${CALLS} calls are granted: ${JSON.stringify(seen)}` });
const deleted = await call(`${http}/v1/auth/Rules/Delete`, { id: "default" }, admin);
acknowledged = performance.now();
await until(() => seen.refusedAfter >= CALLS, { what: () => `${CALLS} calls are refused: ${JSON.stringify(seen)}` });
stopped = true;
await Promise.all(callers);

t.equal(deleted.status, 200);
t.equal(seen.grantedAfter, 0, "no call is granted after the acknowledgement");
t.equal(seen.other, 0, "every call is granted or refused");
t.comment(JSON.stringify(seen));
