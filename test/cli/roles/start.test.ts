// What a user sees at the first start and at the second, and what survives a restart.
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import { installation } from "../../support/installation.js";
import { administrator, call, refused, start } from "../../support/process.js";

t.test("the first start that succeeds prints a password once; only the owner can read its file", async (t) => {
  const data = join(t.testdir(), "data");
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const inUse = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
  const free = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };
  for (const variable of Object.keys(free)) {
    const failed = await refused(["server"], { PORTICO_DATA: data, ...free, [variable]: inUse });
    t.match(failed, { code: 1, output: `${inUse} is in use; name another address in ${variable}` });
  }
  const failed = await refused(["authority"], { PORTICO_DATA: data, ...free, PORTICO_GRPC: inUse });
  t.match(failed, { code: 1, output: `${inUse} is in use; name another address in PORTICO_GRPC` });
  t.notOk(existsSync(data), "nothing is written");
  taken.close();
  const first = await start(["server"], { PORTICO_DATA: data });
  const file = join(data, "admin-password");
  const password = readFileSync(file, "utf8").trim();
  t.ok(password.length >= 20);
  t.match(first.output(), password);
  t.match(first.output(), file);
  t.notMatch(first.output(), "of admin:");
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.equal(statSync(data).mode & 0o777, 0o700);
  t.equal(statSync(join(data, "portico.sqlite")).mode & 0o777, 0o600);
  t.equal((await call(`${first.address("HTTP")}/helloworld/call?name=Ada`)).status, 200);
  t.equal(await first.stop(), 0, "SIGTERM ends it well");

  const second = await start(["server"], { PORTICO_DATA: data });
  t.notMatch(second.output(), password);
  t.match(
    second.output(),
    /Password +of admin: .*admin-password/,
    "it says where the password is, until another one is set",
  );
  t.match(await administrator(second.address("HTTP"), data), { authorization: /^Bearer pta_/ });
  t.equal(await second.stop("SIGINT"), 0, "Ctrl-C ends it well");
});

t.test("a first start that was killed before it made the store of services has lost nothing", async (t) => {
  const data = join(t.testdir(), "data");
  const warningsWithoutStore = async () => {
    for (const end of ["", "-wal", "-shm"]) rmSync(join(data, `services.sqlite${end}`), { force: true });
    const server = await start(["server"], { PORTICO_DATA: data });
    await server.stop();
    return server.errors().includes("services.sqlite was not there: it is made anew");
  };
  await (await start(["server"], { PORTICO_DATA: data })).stop();
  writeFileSync(join(data, "admin-password-unshown"), "left by the first start, which was killed");
  t.notOk(await warningsWithoutStore());
  t.ok(await warningsWithoutStore(), "later a store that is missing was lost");
});

t.test("a first start with a given password writes no password file", async (t) => {
  const data = t.testdir();
  const env = { PORTICO_DATA: data, PORTICO_ADMIN_PASSWORD: "correct horse battery" };
  const portico = await start(["server"], env);
  t.teardown(() => portico.stop());
  t.notOk(existsSync(join(data, "admin-password")));
  t.notMatch(portico.output() + portico.errors(), "correct horse battery");
  const login = { account: "admin", password: "correct horse battery" };
  t.equal((await call(`${portico.address("HTTP")}/auth/login`, login)).status, 200);
});

t.test("the default rule stays deleted after a restart, even if no rule is left", async (t) => {
  const data = await installation(t.testdir());
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
  const data = await installation(t.testdir());
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

t.test("a small limit for bodies does not apply to the registry's own messages", async (t) => {
  const portico = await start(["server"], { PORTICO_DATA: await installation(t.testdir()), PORTICO_MAX_BODY: "100B" });
  t.teardown(() => portico.stop());
  const url = `${portico.address("HTTP")}/helloworld/call`;
  t.equal((await call(url, { name: "Ada" })).status, 200);
  t.equal((await call(url, { name: "Ada".repeat(100) })).status, 413);
});
