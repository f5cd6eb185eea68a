// A gateway opens its HTTP port only when it can serve calls, so that it refuses no call that
// another gateway on the port could serve.

import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { call, start } from "../../support/process.js";

const data = await installation(t.testdir());
const authority = await start(["authority"], { PORTICO_DATA: data });
t.teardown(() => authority.stop());

for (const role of [["gateway"], ["gateway", "--workers", "2"]]) {
  t.test(`portico ${role.join(" ")} serves its first call`, async (t) => {
    const http = `127.0.0.1:${await freePort()}`;
    const env = { PORTICO_DATA: data, PORTICO_AUTHORITY: authority.address("gRPC"), PORTICO_HTTP: http };
    const starting = start(role, env);
    t.teardown(async () => (await starting).stop());
    const refused: unknown[] = [];
    for (let answered = 0; answered < 20; ) {
      const response = await call(`http://${http}/registry/list`, {}).catch(() => undefined);
      if (response === undefined) {
        await sleep(10);
        continue;
      }
      answered++;
      if (response.status !== 200) refused.push(response.body);
    }
    t.same(refused, []);
  });
}
