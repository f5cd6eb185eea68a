// What a person sees at the first start, at the second, and at one that cannot be.
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { administrator, call, refused, start } from "./process.js";

t.test("first start: a password that is shown once, and kept for the owner's eyes only", async (t) => {
  const data = join(t.testdir(), "data");
  const first = await start(["server"], { PORTICO_DATA: data });
  const file = join(data, "admin-password");
  const password = readFileSync(file, "utf8").trim();
  t.ok(password.length >= 20);
  t.match(first.output(), password);
  t.match(first.output(), file);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.equal(statSync(data).mode & 0o777, 0o700);
  t.equal(statSync(join(data, "portico.sqlite")).mode & 0o777, 0o600);
  t.equal((await call(`${first.address("HTTP")}/helloworld/call?name=Ada`)).status, 200);
  t.equal(await first.stop(), 0, "SIGTERM ends it well");

  const second = await start(["server"], { PORTICO_DATA: data });
  t.notMatch(second.output(), password);
  t.match(await administrator(second.address("HTTP"), data), { authorization: /^Bearer pta_/ });
  t.equal(await second.stop("SIGINT"), 0, "Ctrl-C ends it well");
});

t.test("first start with a password given: none is written", async (t) => {
  const data = t.testdir();
  const env = { PORTICO_DATA: data, PORTICO_ADMIN_PASSWORD: "correct horse battery" };
  const portico = await start(["server"], env);
  t.teardown(() => portico.stop());
  t.notOk(existsSync(join(data, "admin-password")));
  t.notMatch(portico.output() + portico.errors(), "correct horse battery");
  const login = { account: "admin", password: "correct horse battery" };
  t.equal((await call(`${portico.address("HTTP")}/auth/login`, login)).status, 200);
});

t.test("the default rule stays deleted over a restart, though no rule is left", async (t) => {
  const data = t.testdir();
  const first = await start(["server"], { PORTICO_DATA: data });
  const admin = await administrator(first.address("HTTP"), data);
  t.equal((await call(`${first.address("HTTP")}/v1/auth/Rules/Delete`, { id: "default" }, admin)).status, 200);
  await first.stop();
  const second = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => second.stop());
  const { status, body } = await call(`${second.address("HTTP")}/helloworld/call?name=Ada`);
  t.equal(status, 401);
  t.same(body, {
    Id: "helloworld",
    Code: 401,
    Detail: "Unauthorized call made to helloworld:Helloworld.Call",
    Status: "Unauthorized",
  });
});

t.test("an acknowledged change survives kill -9", async (t) => {
  const data = t.testdir();
  const first = await start(["server"], { PORTICO_DATA: data });
  const admin = await administrator(first.address("HTTP"), data);
  const rule = { id: "kept", scope: "*", access: "GRANTED", resource: "*:*:*", priority: 3 };
  t.equal((await call(`${first.address("HTTP")}/v1/auth/Rules/Create`, { rule }, admin)).status, 200);
  await first.stop("SIGKILL");
  const second = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => second.stop());
  const { body } = await call(`${second.address("HTTP")}/v1/auth/Rules/List`, {}, admin);
  t.match(body, { rules: [{ id: "kept", priority: 3 }, { id: "default" }] });
});

/** Makes a folder with a store that holds data, then does something to it. */
async function spoiltStore(t: Test, spoil: (file: string) => void): Promise<string> {
  const data = t.testdir();
  const portico = await start(["server"], { PORTICO_DATA: data });
  await portico.stop();
  spoil(join(data, "portico.sqlite"));
  return data;
}

const stores: [what: string, spoil: (file: string) => void, message: RegExp][] = [
  ["of another program", (file) => writeFileSync(file, "not a database".repeat(100)), /not a store of Portico/],
  ["empty", (file) => writeFileSync(file, ""), /is empty/],
  ["overwritten in the middle", (file) => overwrite(file, 0.3, 0.9), /portico\.sqlite.*damaged|damaged|checksum/],
  ["cut off", (file) => writeFileSync(file, readFileSync(file).subarray(0, 6000)), /damaged|malformed/],
  ["not readable", (file) => chmodSync(file, 0o000), /may not be read/],
];

function overwrite(file: string, from: number, to: number): void {
  const bytes = readFileSync(file);
  bytes.fill(0x5a, Math.floor(bytes.length * from), Math.floor(bytes.length * to));
  writeFileSync(file, bytes);
}

for (const [what, spoil, message] of stores) {
  const skip = what === "not readable" && process.getuid?.() === 0 ? "root may read everything" : false;
  t.test(`a store that is ${what} refuses the start and is left as it is`, { skip }, async (t) => {
    const data = await spoiltStore(t, spoil);
    const before = readFileSync(join(data, "portico.sqlite"));
    const { code, output } = await refused(["server"], { PORTICO_DATA: data });
    t.equal(code, 1);
    t.match(output, message);
    t.notMatch(output, /password| {4}at /i, "no fresh installation, no stack");
    t.same(readFileSync(join(data, "portico.sqlite")), before);
  });
}

const settings: [variable: string, value: string, message: RegExp][] = [
  ["PORTICO_HTTP", "eight", /PORTICO_HTTP is "eight": must be host:port/],
  ["PORTICO_ADMIN_PASSWORD", "short", /PORTICO_ADMIN_PASSWORD.*12 to 128 characters/],
];
for (const [variable, value, message] of settings) {
  t.test(`${variable}=${value} refuses the start with one line`, async (t) => {
    const data = join(t.testdir(), "data");
    const { code, output } = await refused(["server"], { PORTICO_DATA: data, [variable]: value });
    t.equal(code, 2);
    t.match(output, message);
    t.equal(output.trim().split("\n").length, 1);
  });
}

t.test("a port in use is named", async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  t.teardown(() => other.close());
  const port = (other.address() as { port: number }).port;
  const env = {
    PORTICO_DATA: t.testdir(),
    PORTICO_HTTP: `127.0.0.1:${port}`,
    PORTICO_GRPC: "127.0.0.1:0",
    PORTICO_ADMIN: "127.0.0.1:0",
  };
  const { code, output } = await refused(["server"], env);
  t.equal(code, 1);
  t.match(output, new RegExp(`127\\.0\\.0\\.1:${port} is in use.*PORTICO_HTTP`));
});
