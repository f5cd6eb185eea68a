// A login renews itself, once for all commands that run at the same time. Its tokens are sent to no
// other server.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { Profile } from "../../../cli/http/profile.js";
import { StoredLogin } from "../../../cli/http/session.js";
import { createToken } from "../../../src/call/token.js";
import { installation } from "../../support/installation.js";
import { start } from "../../support/process.js";
import { NOWHERE, type Outcome, portico } from "../command-line.js";

const data = await installation(t.testdir());
const server = await start(["server"], { PORTICO_DATA: data });
t.teardown(() => server.stop());
const url = server.address("HTTP");
const password = readFileSync(join(data, "admin-password"), "utf8").trim();
const CALL = ["helloworld", "call", "--name=Ada"];
const LIST = ["auth", "list", "rules", "-o", "name"];

/** A logged-in user with a config folder of their own. */
class Person {
  readonly config: string;
  readonly file: string;
  readonly refreshFile: string;

  constructor(t: Test) {
    this.config = t.testdir();
    this.file = join(this.config, "portico/profiles/default.json");
    this.refreshFile = join(this.config, "portico/profiles/default.refresh");
  }

  static async loggedIn(t: Test): Promise<Person> {
    const person = new Person(t);
    const { exit, stdout } = await person.run(["login"], { PORTICO_PASSWORD: password });
    t.equal(exit, 0);
    t.equal(stdout, "");
    return person;
  }

  run(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
    return portico(args, { env: { XDG_CONFIG_HOME: this.config, PORTICO_URL: url, ...env } });
  }

  get profile() {
    return JSON.parse(readFileSync(this.file, "utf8"));
  }

  /** Simulates that the access token has expired. */
  expire(): void {
    const { login, ...rest } = this.profile;
    writeFileSync(this.file, JSON.stringify({ ...rest, login: { ...login, expires: "2020-01-01T00:00:00Z" } }));
  }

  /** Simulates that the authority does not know the access token any more. */
  spoil(): void {
    const { login, ...rest } = this.profile;
    writeFileSync(this.file, JSON.stringify({ ...rest, login: { ...login, token: createToken("access") } }));
  }

  get refreshToken(): string {
    return readFileSync(this.refreshFile, "utf8");
  }
}

t.test("renews an expired access token before the call", async (t) => {
  const person = await Person.loggedIn(t);
  const { refreshToken, profile } = person;
  person.expire();
  const { exit, stdout } = await person.run(LIST);
  t.equal(exit, 0);
  t.equal(stdout, "default\n");
  t.not(person.refreshToken, refreshToken);
  t.not(person.profile.login.token, profile.login.token);
});

t.test("renews an access token that the gateway refuses, and repeats the call", async (t) => {
  const person = await Person.loggedIn(t);
  person.spoil();
  t.match(await person.run(LIST), { exit: 0, stdout: "default\n" });
});

t.test("commands that run at the same time use one refresh token once", async (t) => {
  const person = await Person.loggedIn(t);
  const env = { PATH: process.env.PATH, XDG_CONFIG_HOME: person.config, PORTICO_URL: url };
  const run = () => promisify(execFile)(process.execPath, ["dist/portico.js", ...LIST], { env });
  person.expire();
  const outcomes = await Promise.all([run(), run(), run(), run()]);
  t.same(
    outcomes.map(({ stdout }) => stdout),
    Array(4).fill("default\n"),
  );
  person.expire();
  t.match(await person.run(LIST), { exit: 0 }, "the login lives on");
});

t.test("a command that waited for another command's renewal uses the new token", async (t) => {
  const person = await Person.loggedIn(t);
  person.expire();
  const session = () =>
    new StoredLogin(new URL(url), new Profile("default", { XDG_CONFIG_HOME: person.config }), "portico login");
  const [first, second] = await Promise.all([session().token(), session().token()]);
  t.equal(first, second);
  t.equal(first, person.profile.login.token);
});

t.test("a refusal by the rules uses up no refresh token", async (t) => {
  const person = await Person.loggedIn(t);
  const restore = ["--access=granted", "--scope=<public>", "--resource=*:*:*", "default"];
  t.match(await person.run(["auth", "delete", "rule", "default"]), { exit: 0 });
  t.teardown(() => person.run(["auth", "create", "rule", ...restore]));
  const { refreshToken } = person;
  t.match(await person.run(CALL), { exit: 1, stderr: "Unauthorized call made to helloworld:Helloworld.Call\n" });
  t.equal(person.refreshToken, refreshToken);
});

t.test("a login whose refresh token was revoked has ended", async (t) => {
  const person = await Person.loggedIn(t);
  person.expire();
  writeFileSync(person.refreshFile, createToken("refresh"));
  t.match(await person.run(LIST), { exit: 4, stderr: /^Your login has ended\. Log in again: portico login\n$/ });
  t.match(await person.run(LIST), { exit: 4, stderr: /^Not logged in/ });
});

t.test("a refresh token is still valid after a gateway that does not respond", async (t) => {
  const person = await Person.loggedIn(t);
  const { refreshToken } = person;
  writeFileSync(person.file, JSON.stringify({ ...person.profile, url: `${NOWHERE}/` }));
  person.expire();
  t.match(await person.run(LIST, { PORTICO_URL: NOWHERE }), { exit: 1, stderr: /^Portico does not respond/ });
  t.equal(person.refreshToken, refreshToken);
});

t.test("sends the token of a login only to the Portico that issued it", async (t) => {
  const person = await Person.loggedIn(t);
  const seen: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.setHeader("content-type", "application/json").end("{}");
  }).listen(0, "127.0.0.1");
  await once(other, "listening");
  t.teardown(() => other.close());
  const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  t.match(await person.run([...CALL, "--x=1"], { PORTICO_URL: elsewhere }), { exit: 0 });
  t.match(await person.run(["user", "token", "--url", elsewhere]), { exit: 4, stdout: "" });
  t.same(seen, [undefined]);
});

t.test("user token prints only the token", async (t) => {
  const person = await Person.loggedIn(t);
  t.same(await person.run(["user", "token"]), { exit: 0, stdout: `${person.profile.login.token}\n`, stderr: "" });
  const given = createToken("key");
  t.equal(
    (await person.run(["user", "token"], { PORTICO_TOKEN: given })).stdout,
    `${given}\n`,
    "the variable goes first",
  );
});

t.test("logout revokes the token and deletes it", async (t) => {
  const person = await Person.loggedIn(t);
  const { token } = person.profile.login;
  t.match(await person.run(["logout"]), { exit: 0, stdout: "", stderr: `Logged out of ${url}\n` });
  t.match(await person.run(["user"]), { exit: 4 });
  t.match(await person.run(["user"], { PORTICO_TOKEN: token }), { exit: 4, stderr: /PORTICO_TOKEN is wrong/ });
  t.notOk(JSON.stringify(person.profile).includes("pta_"));
  t.throws(() => person.refreshToken, { code: "ENOENT" });
});

t.test("logout without a response deletes the token, and says that it was not revoked", async (t) => {
  const person = await Person.loggedIn(t);
  writeFileSync(person.file, JSON.stringify({ ...person.profile, url: `${NOWHERE}/` }));
  const { exit, stderr } = await person.run(["logout"], { PORTICO_URL: NOWHERE });
  t.equal(exit, 1);
  t.match(stderr, /^Portico does not respond .*\nThe login is deleted here, but was not revoked/);
  t.equal(person.profile.login, undefined);
});

t.test(
  "login reads the password from the variable or standard input, and the account from the flag first",
  async (t) => {
    const person = new Person(t);
    const { config } = person;
    const login = (args: readonly string[], env: Record<string, string>, stdin = "") =>
      portico(["login", ...args], { env: { XDG_CONFIG_HOME: config, PORTICO_URL: url, ...env }, stdin });
    t.match(await login([], { PORTICO_PASSWORD: "wrong password!" }), { exit: 1, stdout: "", stderr: /password/ });
    t.match(await login(["--password-stdin"], {}, `${password}\n`), {
      exit: 0,
      stderr: `Logged in to ${url} as admin (namespace default)\n`,
    });
    t.match(await login(["--account", "nobody"], { PORTICO_PASSWORD: password, PORTICO_ACCOUNT: "admin" }), {
      exit: 1,
    });
    t.match(await login([], { PORTICO_PASSWORD: password, PORTICO_PROFILE: "work" }), { exit: 0 });
    t.ok(readFileSync(join(config, "portico/profiles/work.json")));
  },
);
