// Completion offers the names that the gateway and the authority return, within a second. If
// something fails, it offers nothing.
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import { joinShop } from "../../scenarios/shop.js";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";
import { portico } from "../command-line.js";

const folder = t.testdir({ data: {}, config: {} });
const data = await installation(join(folder, "data"));
await joinShop(t, data);
const server = await start(["server"], { PORTICO_DATA: data });
t.teardown(() => server.stop());
const url = server.address("HTTP");
const config = join(folder, "config");
const password = readFileSync(join(data, "admin-password"), "utf8").trim();
const env = { PORTICO_URL: url, XDG_CONFIG_HOME: config };
await portico(["login"], { env: { ...env, PORTICO_PASSWORD: password } });
await portico(["auth", "create", "key", "ci", "--resource=service:shop:*"], { env });

async function offered(line: string, more: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const { exit, stdout, stderr } = await portico(["__complete", "fish", ...line.split(" ")], {
    env: { ...env, ...more },
  });
  t.equal(exit, 0);
  t.equal(stderr, "");
  return stdout.split("\n").map((row) => row.split("\t")[0] ?? "");
}

const rows: [line: string, offers: string[], not: string[]][] = [
  ["", ["login", "services", "helloworld", "shop"], ["rules", "--url="]],
  ["-", ["--url=", "--version", "--help"], ["login"]],
  ["auth ", ["explain", "limits", "list"], ["login"]],
  ["auth list ", ["rules", "limits", "keys"], ["rule", "limit"]],
  ["auth create rule --", ["--access=", "--dry-run"], ["--account="]],
  ["auth create rule --access=", ["--access=granted", "--access=denied"], []],
  ["auth create limit --per=", ["--per=account", "--per=everyone"], []],
  ["auth create limit --scope ", ["<public>", "*", "admin"], []],
  ["auth limits --account ", ["admin"], []],
  ["auth create rule --access ", ["granted", "denied"], ["--scope="]],
  [
    "auth create rule --resource=service:shop:",
    ["--resource=service:shop:*", "--resource=service:shop:Orders.Get"],
    [],
  ],
  ["auth create rule --scope ", ["<public>", "*", "admin"], []],
  ["auth delete rule ", ["default"], []],
  ["auth delete account ", ["admin"], []],
  ["auth rotate key ", ["ci"], []],
  ["auth explain --account ", ["admin"], []],
  ["auth create enrolment ", ["gateway", "shop"], []],
  ["describe ", ["shop"], ["login"]],
  ["call shop ", ["Orders/Get", "Call"], []],
  ["call shop Orders/Get -o ", ["json", "yaml", "name"], []],
  ["services --profile ", ["default"], []],
  ["help ", ["login", "services", "helloworld", "shop"], ["rules"]],
  ["help auth ", ["create", "list"], ["login", "shop"]],
  ["help auth create ", ["rule", "key"], []],
  ["help auth delete rule ", [], ["default"]],
  ["help shop ", ["call", "orders"], ["login"]],
  ["completion ", ["bash", "zsh", "fish"], []],
  ["gateway --", ["--workers="], ["--store="]],
  ["service ", ["helloworld"], []],
  // Values of settings: words, files, folders.
  ["server --transport ", ["http2", "grpc-js"], []],
  ["server --log-level=", ["--log-level=debug", "--log-level=silent"], []],
  ["gateway --omit-zeros ", ["true", "false"], []],
  ["server --config pack", ["package.json"], ["scripts/"]],
  ["server --config .git", [".gitignore"], []],
  ["server --config ", ["package.json", "scripts/"], [".gitignore"]],
  ["server --tls-cert=scripts/bu", ["--tls-cert=scripts/build.mjs"], []],
  ["server --data s", ["src/", "scripts/"], []],
  ["server --data p", ["proto/"], ["package.json"]],
  ["server --data nowhere/", [], []],
  // After a service: the words of its endpoints, then the fields.
  ["shop ", ["call", "orders"], ["get"]],
  ["shop orders ", ["get", "add"], ["call"]],
  ["shop orders get --", ["--id=", "--gift", "--way=", "--help"], ["--url="]],
  ["shop orders get --way=", ["--way=POST", "--way=COURIER"], []],
  ["shop orders get --id=5 -o ", ["json"], []],
];
for (const [line, offers, not] of rows) {
  t.test(`portico ${line}`, async (t) => {
    const found = await offered(line);
    t.same(
      offers.filter((word) => !found.includes(word)),
      [],
      `offers all of ${offers.join(", ")}; offered: ${found}`,
    );
    t.same(
      not.filter((word) => found.includes(word)),
      [],
      `does not offer ${not.join(", ")}`,
    );
  });
}

t.test("escapes candidates as bash inserts them", async (t) => {
  const bash = async (line: string) =>
    (await portico(["__complete", "bash", line, ":="], { env })).stdout.split("\n").slice(0, -1);
  t.same(await bash("portico auth del"), ["delete "], "a space follows a word that is whole");
  t.same(await bash("portico auth create rule --acc"), ["--access="], "none follows one that goes on");
  t.same(
    await bash("portico auth create rule --resource=service:shop:Orders.G"),
    ["Orders.Get "],
    "words break at = and :",
  );
  t.same(await bash("portico auth create rule --scope '<p"), ["<public>"], "an open quote stays");
  t.same(await bash("portico auth create rule --scope \\<p"), ["\\<public\\> "], "special characters are escaped");
});

t.test("offers commands when no gateway responds", async (t) => {
  const found = await offered("", { PORTICO_URL: "http://127.0.0.1:1" });
  t.ok(found.includes("login"));
  t.same(await offered("auth delete rule ", { PORTICO_URL: "http://127.0.0.1:1" }), [""]);
});

t.test("offers commands within a second when the gateway never responds", async (t) => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  t.teardown(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const found = await offered("", { PORTICO_URL: `http://127.0.0.1:${(silent.address() as AddressInfo).port}` });
  t.ok(found.includes("login"));
});

t.test("does not renew an expired login", async (t) => {
  const file = join(config, "portico/profiles/default.json");
  const profile = JSON.parse(readFileSync(file, "utf8"));
  const expired = JSON.stringify({ ...profile, login: { ...profile.login, expires: "2020-01-01T00:00:00Z" } });
  writeFileSync(file, expired);
  t.same(await offered("auth delete rule "), [""]);
  t.equal(readFileSync(file, "utf8"), expired);
});

t.test("leaves out names with control characters", async (t) => {
  const headers = await administrator(url, data);
  const { status } = await call(
    `${url}/v1/auth/Accounts/SetScopes`,
    { name: "admin", scopes: ["admin", "a\u001bb"] },
    headers,
  );
  const token = headers.authorization.replace("Bearer ", "");
  const found = await offered("auth create rule --scope ", { PORTICO_TOKEN: token });
  t.equal(
    found.some((word) => word.includes("\u001b")),
    false,
    `the authority answered ${status}`,
  );
});
