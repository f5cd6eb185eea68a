/** `portico recover admin` on a store with or without a running server, and what it rejects. */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ADMIN_PASSWORD, installation } from "../../support/installation.js";
import { start } from "../../support/process.js";
import { until } from "../../support/until.js";
import { portico } from "../command-line.js";

const NEW_PASSWORD = "of the operator's own choice";

async function login(url: string, password: string): Promise<number> {
  const body = JSON.stringify({ account: "admin", password });
  const response = await fetch(`${url}/auth/login`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  await response.arrayBuffer();
  return response.status;
}

t.test("with a running server, only the printed password is valid once the command returns", async (t) => {
  const data = await installation(t.testdir());
  const server = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => server.stop());
  const url = server.address("HTTP");
  t.equal(await login(url, ADMIN_PASSWORD), 200);
  const { exit, stdout, stderr } = await portico(["recover", "admin", "--data", data]);
  t.equal(exit, 0, stderr);
  t.match(stdout, /^(\w{5}-){3}\w{5}\n$/);
  t.match(stderr, /^The password of admin is set\. Waiting .* at most a lease …\nLogins of admin .* have ended/);
  t.notOk(existsSync(join(data, "admin-password")), "the file with the first password has gone");
  t.equal(await login(url, ADMIN_PASSWORD), 401);
  t.equal(await login(url, stdout.trim()), 200);
});

t.test("without one, it reads the password from stdin; a start says which setting has no effect", async (t) => {
  const data = await installation(t.testdir());
  const flags = ["recover", "admin", "--password-stdin", "--data", data];
  const { exit, stdout } = await portico(flags, { stdin: `${NEW_PASSWORD}\n` });
  t.same([exit, stdout], [0, ""]);
  const server = await start(["server"], { PORTICO_DATA: data, PORTICO_ADMIN_PASSWORD: ADMIN_PASSWORD });
  t.teardown(() => server.stop());
  t.equal(await login(server.address("HTTP"), NEW_PASSWORD), 200);
  await until(() =>
    /PORTICO_ADMIN_PASSWORD counts at the first start only, .* portico recover admin/.test(server.errors()),
  );
});

const REFUSED: readonly [what: string, prepare: (data: string) => void, message: RegExp][] = [
  ["a store that is not there", () => undefined, /store .+ does not exist; --data or PORTICO_DATA names its folder/],
  [
    "what is no store",
    (data) => writeFileSync(join(data, "portico.sqlite"), "x".repeat(200)),
    /is not a store of Portico/,
  ],
];

for (const [what, prepare, message] of REFUSED) {
  t.test(`${what} is rejected, and nothing is created`, async (t) => {
    const data = t.testdir({});
    prepare(data);
    const before = readdirSync(data);
    const { exit, stdout, stderr } = await portico(["recover", "admin", "--data", data]);
    t.same([exit, stdout], [1, ""]);
    t.match(stderr, message);
    t.same(readdirSync(data), before);
  });
}

t.test("a password that is too short is rejected", async (t) => {
  const data = await installation(t.testdir());
  const flags = ["recover", "admin", "--password-stdin", "--data", data];
  const { exit, stderr } = await portico(flags, { stdin: "short\n" });
  t.equal(exit, 1);
  t.match(stderr, /12 to 128 characters/);
});
