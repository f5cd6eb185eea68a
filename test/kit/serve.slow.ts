/**
 * `serve` runs a service in its own process: it joins, is guarded, knows its callers, and stops in
 * good order.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import t, { type Test } from "tap";
import { bundleInto } from "../support/bundle.js";
import { installation } from "../support/installation.js";
import { administrator, call, start } from "../support/process.js";

const folder = t.testdir();
const data = await installation(folder);
const program = await bundleInto(folder, "test/kit/front.ts");
const server = await start(["server"], { PORTICO_DATA: data, PORTICO_TRUSTED_PROXIES: "127.0.0.1" });
t.teardown(() => server.stop());
const http = server.address("HTTP");
const admin = await administrator(http, data);
const enrolled = await call(`${http}/v1/auth/Enrolments/Create`, { name: "front" }, admin);
const ENROLMENT = (enrolled.body as { secret: string }).secret;

interface Front {
  readonly child: ChildProcess;
  readonly errors: () => string;
  printed(text: string): Promise<void>;
}

function run(env: Record<string, string>): Front {
  const PORTICO_AUTHORITY = server.address("gRPC");
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH, PORTICO_DATA: data, PORTICO_AUTHORITY, PORTICO_LOG_LEVEL: "info", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
  });
  const printed = async (text: string) => {
    while (!output.includes(text)) {
      if (child.exitCode !== null) throw new Error(`exit ${child.exitCode}: ${errors}`);
      await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
    }
  };
  return { child, errors: () => errors, printed };
}

async function served(t: Test): Promise<Front> {
  const front = run({ PORTICO_ENROLMENT: ENROLMENT });
  t.teardown(() => front.child.kill("SIGKILL"));
  await front.printed("served at 127.0.0.1:");
  return front;
}

const greet = async (name: string, headers: Record<string, string> = admin) => {
  const { status, body } = await call(`${http}/front/Call`, { name }, headers);
  return [status, (body as { message?: string; Detail?: string }).message ?? (body as { Detail?: string }).Detail];
};

t.test("it can be called as soon as it is served", async (t) => {
  const front = await served(t);
  t.same(await greet("Ada"), [200, "Hello Ada"]);
  t.same(await greet("who"), [200, "admin of default"]);
  t.same(await greet("who", {}), [200, "undefined of default"]);
  t.same(await greet("count"), [200, "1"]);
  t.same(await greet("count"), [200, "2"]);
  t.same(await greet("refuse"), [400, "name: must be another"]);
  t.same(await greet("fail"), [500, "Internal error"]);
  while (!front.errors().includes("/secret/place")) await once(front.child.stderr as NodeJS.ReadableStream, "data");
  t.match(front.errors(), /"err":\{"type":"Error","message":"\/secret\/place cannot be opened","stack":/);
});

t.test("it knows the scopes of its caller, also in a call that another service makes", async (t) => {
  await served(t);
  const password = "a long password";
  await call(`${http}/v1/auth/Accounts/Create`, { name: "bob", password, scopes: ["night", "staff"] }, admin);
  const { body } = await call(`${http}/auth/login`, { account: "bob", password });
  const bob = { authorization: `Bearer ${(body as { accessToken: string }).accessToken}` };
  t.same(await greet("scopes", bob), [200, "night,staff"]);
  t.same(await greet("ask scopes", bob), [200, "night,staff"]);
  t.same(await greet("scopes", {}), [200, "undefined"]);
  await call(`${http}/v1/auth/Accounts/SetScopes`, { name: "bob", scopes: ["day"] }, admin);
  t.same(await greet("scopes", bob), [200, "day"], "a change of scopes reaches the next call");
});

t.test("the headers that it names reach it, and its metadata reaches callers", async (t) => {
  await served(t);
  const sent = { ...admin, "x-tenant": "acme", "x-tenant-other": "no" };
  const response = await fetch(`${http}/front/Call?name=tenant`, { headers: sent });
  t.match(await response.json(), { message: "x-tenant,acme" });
  t.match(Object.fromEntries(response.headers), { "x-cost": "3", "x-key-bin": "AQI" });
});

t.test("it calls other services for its own caller, as far as the rules allow both", async (t) => {
  await served(t);
  t.same(await greet("ask who"), [200, "admin of default"]);
  t.same(await greet("ask helloworld"), [200, "Hello Ada"]);
  const relayed = await fetch(`${http}/front/Stream?name=relay&messages=3`, { headers: admin });
  t.match(await relayed.text(), /"0".*\n.*"1".*\n.*"2"/);
  t.same(await greet("ask nobody"), [503, "there is no instance of nobody to call"]);
  const rule = { id: "front-only", scope: "*", access: "GRANTED", resource: "service:front:*" };
  await call(`${http}/v1/auth/Rules/Create`, { rule }, admin);
  await call(`${http}/v1/auth/Rules/Delete`, { id: "default" }, admin);
  t.same(await greet("who"), [200, "admin of default"]);
  const [status, detail] = await greet("ask helloworld");
  t.equal(status, 401);
  t.match(detail, /Unauthorized call made to helloworld:Helloworld.Call by service front/);
});

t.test("it gets the client's address, and so do the services that it calls", async (t) => {
  await served(t);
  const forwarded = { ...admin, "x-forwarded-for": "203.0.113.66, 192.0.2.7" };
  t.same(await greet("where", forwarded), [200, "192.0.2.7"]);
  t.same(await greet("ask where", forwarded), [200, "192.0.2.7"]);
  t.same(await greet("where", { ...forwarded, "x-portico-client-address": "203.0.113.66" }), [200, "192.0.2.7"]);
});

t.test("at SIGTERM it finishes running calls, deregisters, and exits with 0", async (t) => {
  const front = await served(t);
  const response = greet("wait");
  await front.printed("waiting");
  front.child.kill("SIGTERM");
  t.same(await response, [200, "finished"]);
  const [code] = await once(front.child, "exit");
  t.equal(code, 0);
  const [status] = await greet("Ada");
  t.equal(status, 404, "nothing serves it any more");
});

t.test("without an enrolment, the start ends with a line that says which command to run", async (t) => {
  const { child, errors } = run({});
  const [code] = await once(child, "close");
  t.equal(code, 1);
  t.match(errors(), /no enrolment token: .*portico auth create enrolment front/);
  t.notMatch(errors(), /\n +at /, "and no stack");
});
