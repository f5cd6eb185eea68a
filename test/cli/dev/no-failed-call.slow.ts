// While versions of a service change, every call succeeds. After the line about a new version, the
// new version responds.
import { join } from "node:path";
import t from "tap";
import { call } from "../../support/process.js";
import { edit, newProject, skipTypes, startDev } from "./project.js";

const project = newProject(t.testdir());
skipTypes(project);
const dev = await startDev(t, project);
await dev.prints(/greeter started in/);

t.test("no call fails, and after the printed line the new version responds", async (t) => {
  const outcomes = { answered: 0, failed: [] as unknown[] };
  let over = false;
  const calls = (async () => {
    while (!over) {
      const { status, body } = await call(`${dev.http}/greeter?name=Ada`);
      if (status === 200) outcomes.answered++;
      else outcomes.failed.push(body);
    }
  })();
  for (let version = 1; version <= 4; version++) {
    edit(join(project, "greeter.ts"), version === 1 ? "`Hello" : `\`Hello${version - 1}`, `\`Hello${version}`);
    await dev.prints(/greeter reloaded in/);
    t.same((await call(`${dev.http}/greeter?name=Ada`)).body, { message: `Hello${version} Ada` });
  }
  over = true;
  await calls;
  t.same(outcomes.failed, []);
  t.ok(outcomes.answered > 0);
});

t.test("an endpoint that only the contract has is listed, documented, and not implemented", async (t) => {
  const endpoint = "  // Says farewell.\n  rpc Leave(CallRequest) returns (CallResponse);\n}\n\nmessage CallRequest";
  edit(join(project, "proto/greeter.proto"), "}\n\nmessage CallRequest", endpoint);
  await dev.prints(/greeter reloaded in/);
  t.match((await call(`${dev.http}/greeter/leave?name=Ada`)).body, { Code: 501 });
  const { proto } = (await call(`${dev.http}/registry/describe?service=greeter`)).body as { proto: string };
  t.match(proto, "// Says farewell.\n  rpc Leave");
  const { body } = await call(`${dev.http}/openapi/greeter.json`);
  t.match(JSON.stringify(body), "Says farewell");
});
