// Profiles hide tokens from other users, and prevent that a refresh token is used twice.
import { execFile } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { Profile } from "../../../cli/http/profile.js";

const DATA = {
  url: "http://127.0.0.1:8080/",
  namespace: "default",
  account: "admin",
  login: { token: "pta_x", expires: "2026-01-01T00:00:00Z" },
};

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

t.test("only the owner can read the files, even in a folder that all users could read", async (t) => {
  const config = t.testdir({ portico: {} });
  chmodSync(join(config, "portico"), 0o755);
  const profile = new Profile("work", { XDG_CONFIG_HOME: config });
  profile.write(DATA);
  profile.writeRefreshToken("ptr_x");
  t.same(profile.read(), DATA);
  t.equal(mode(join(config, "portico")), "700");
  t.equal(mode(join(config, "portico/profiles/work.json")), "600");
  t.equal(mode(join(config, "portico/profiles/work.refresh")), "600");
  t.equal(readdirSync(join(config, "portico/profiles")).length, 2, "nothing else is left");
});

t.test("profiles are under ~/.config without XDG_CONFIG_HOME", async (t) => {
  const home = t.testdir();
  new Profile("default", { HOME: home }).write(DATA);
  t.match(readFileSync(join(home, ".config/portico/profiles/default.json"), "utf8"), /pta_x/);
});

t.test("reports a damaged profile", async (t) => {
  const config = t.testdir({ portico: { profiles: { "default.json": '{"url":' } } });
  t.throws(() => new Profile("default", { XDG_CONFIG_HOME: config }).read(), /default\.json is damaged\. Delete it/);
});

t.test("processes that take the refresh token at the same time each get a different one", async (t) => {
  const config = t.testdir();
  const env = { PATH: process.env.PATH, XDG_CONFIG_HOME: config };
  new Profile("default", env).writeRefreshToken("1");
  const run = promisify(execFile);
  const taker = () => run(process.execPath, ["--import=tsx", "test/cli/http/take-token.ts"], { env });
  const outputs = await Promise.all([taker(), taker(), taker()]);
  const tokens = outputs.flatMap(({ stdout }) => stdout.trim().split("\n").map(Number));
  t.same(
    tokens.sort((a, b) => a - b),
    Array.from({ length: 30 }, (_, index) => index + 1),
  );
  t.same(readdirSync(join(config, "portico/profiles")), ["default.refresh"]);
});

t.test("without a refresh token there is nothing to take", async (t) => {
  t.equal(await new Profile("default", { XDG_CONFIG_HOME: t.testdir() }).take(), undefined);
  const other = t.testdir({ portico: { profiles: { "default2.refresh": "x", "default.json": "{}" } } });
  t.equal(await new Profile("default", { XDG_CONFIG_HOME: other }).take(), undefined);
});

t.test("a refresh token whose process died can be taken after 15 seconds, not before", async (t) => {
  const config = t.testdir();
  const profile = new Profile("default", { XDG_CONFIG_HOME: config });
  profile.writeRefreshToken("ptr_x");
  await profile.take();
  const folder = join(config, "portico/profiles");
  const [held = ""] = readdirSync(folder);
  const late = profile.take();
  t.same(readdirSync(folder), [held], "a fresh one is left alone");
  const before = new Date(Date.now() - 15_001);
  utimesSync(join(folder, held), before, before);
  t.equal((await late)?.token, "ptr_x");
});

t.test("a process that dies while it writes leaves the old profile", async (t) => {
  const config = t.testdir();
  const profile = new Profile("default", { XDG_CONFIG_HOME: config });
  profile.write(DATA);
  writeFileSync(join(config, "portico/profiles/default.json.0badc0de.tmp"), '{"url"');
  t.same(profile.read(), DATA);
});

t.test("the error for a profile that cannot be written names it, and no other file is left", async (t) => {
  const config = t.testdir({ portico: { profiles: { "default.json": {} } } });
  const profile = new Profile("default", { XDG_CONFIG_HOME: config });
  t.throws(() => profile.write(DATA), { message: /^The profile .*default\.json cannot be written: EISDIR/ });
  t.same(readdirSync(join(config, "portico/profiles")), ["default.json"]);
  const file = t.testdir({ portico: "a file" });
  t.throws(() => new Profile("default", { XDG_CONFIG_HOME: file }).write(DATA), {
    message: /cannot be written: ENOTDIR/,
  });
});
