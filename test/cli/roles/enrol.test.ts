// `portico enrol` creates an enrolment token in the store directly, whether an authority runs on it
// or not. So a machine that has the store can enrol gateways and services before anyone can log in.

import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { installation } from "../../support/installation.js";
import { start } from "../../support/process.js";
import { portico } from "../command-line.js";

t.test("a running authority accepts a token that was created directly in the store", async (t) => {
  const data = await installation(t.testdir());
  const authority = await start(["authority"], { PORTICO_DATA: data });
  t.teardown(() => authority.stop());
  const { exit, stdout } = await portico(["enrol", "id", "--data", data]);
  t.equal(exit, 0);
  t.match(stdout, /^pte_\w+\n$/);

  const joining = { PORTICO_AUTHORITY: authority.address("gRPC"), PORTICO_ENROLMENT: stdout.trim() };
  const service = await start(["service", "id"], { PORTICO_DATA: t.testdir({ elsewhere: {} }), ...joining });
  t.teardown(() => service.stop());
  t.match(service.output(), /^ *Ready/m);
});

t.test("the same token is printed each time, from the folder where roles on this machine read it", async (t) => {
  const data = await installation(t.testdir());
  const first = await portico(["enrol", "id", "--data", data]);
  const second = await portico(["enrol", "id"], { env: { PORTICO_DATA: data } });
  t.equal(second.stdout, first.stdout);
  t.ok(existsSync(join(data, "enrolment", "id")));
});

const REFUSED = [
  { title: "a store that no authority has set up", name: "id", message: /is not set up yet; start portico authority/ },
  {
    title: "a name that no service can have",
    name: "Two Words",
    message: /^name: must be 1 to \d+ lower-case letters/,
  },
];

for (const { title, name, message } of REFUSED) {
  t.test(`${title} is rejected`, async (t) => {
    const data = t.testdir();
    const { exit, stdout, stderr } = await portico(["enrol", name, "--data", data]);
    t.equal(exit, 1);
    t.equal(stdout, "");
    t.match(stderr, message);
    t.notOk(existsSync(join(data, "enrolment")));
  });
}
