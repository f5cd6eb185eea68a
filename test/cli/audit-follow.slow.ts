// `portico auth export audit --follow` survives what happens to its connection and its gateway, and
// ends with a reason when it may not go on.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import t, { type Test } from "tap";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { installation } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { administrator, call, type Portico, start } from "../support/process.js";
import { inTime, until } from "../support/until.js";

interface Started {
  readonly data: string;
  readonly url: string;
  readonly proxy: CuttingProxy;
  readonly admin: Record<string, string>;
  readonly server: { portico: Portico };
  restart(signal: NodeJS.Signals): Promise<void>;
  /** Makes a change, whose record has this subject. */
  change(subject: string): Promise<void>;
}

async function started(t: Test): Promise<Started> {
  const data = await installation(t.testdir());
  const http = `127.0.0.1:${await freePort()}`;
  const env = { PORTICO_DATA: data, PORTICO_OWN_SERVICES: "helloworld", PORTICO_HTTP: http };
  const server = { portico: await start(["server"], env) };
  t.teardown(() => server.portico.stop());
  const url = `http://${http}`;
  const proxy = await CuttingProxy.listen(t, Number(http.split(":")[1]));
  const admin = await administrator(url, data);
  const change = async (subject: string) => {
    const rule = { id: subject, scope: "*", access: "GRANTED", resource: "*:*:*" };
    const { status, body } = await call(`${url}/v1/auth/Rules/Create`, { rule }, admin);
    if (status !== 200) throw new Error(JSON.stringify(body));
  };
  const restart = async (signal: NodeJS.Signals) => {
    await server.portico.stop(signal);
    server.portico = await start(["server"], env);
  };
  return { data, url, proxy, admin, server, restart, change };
}

interface Run {
  readonly child: ChildProcess;
  readonly subjects: () => string[];
  readonly lines: () => string[];
  readonly errors: () => string;
  /** The exit code. */
  readonly ended: Promise<number | null>;
}

function exporting(t: Test, url: string, token: string, ...flags: string[]): Run {
  const child = spawn(process.execPath, ["dist/portico.js", "auth", "export", "audit", ...flags], {
    env: { PATH: process.env.PATH, HOME: t.testdirName, PORTICO_URL: url, PORTICO_TOKEN: token },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.teardown(() => child.kill("SIGKILL"));
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
  });
  const lines = () => output.split("\n").slice(0, -1);
  return {
    ...{ child, lines, errors: () => errors },
    subjects: () => lines().map((line) => JSON.parse(line).subject),
    ended: inTime(once(child, "close"), () => `the export ends; it printed ${errors}`, 90_000).then(([code]) => code),
  };
}

const tokenOf = ({ authorization = "" }: Record<string, string>): string => authorization.replace("Bearer ", "");

// A silent connection is given up after 45 s; the others run meanwhile.
t.jobs = 4;
t.test("every record is printed once, across cut connections and restarts of the server", async (t) => {
  const mesh = await started(t);
  const token = tokenOf(mesh.admin);
  const run = exporting(t, `http://127.0.0.1:${mesh.proxy.port}`, token, "--follow");
  await mesh.change("one");
  await until(() => run.subjects().includes("one"));
  mesh.proxy.cut();
  await mesh.change("two");
  await until(() => run.subjects().includes("two"));
  for (const [signal, subject] of [
    ["SIGTERM", "three"],
    ["SIGKILL", "four"],
  ] as const) {
    await mesh.restart(signal);
    await mesh.change(subject);
    await until(() => run.subjects().includes(subject), { what: () => run.errors() });
  }
  const whole = exporting(t, mesh.url, token);
  t.equal(await whole.ended, 0);
  t.same(run.lines(), whole.lines());
  t.match(run.errors(), /Trying again/);
  run.child.kill("SIGINT");
  t.equal(await run.ended, 130);
  t.match(run.errors(), /Printed up to (\d+\.\d+)\. To go on: --after=\1\n$/);
});

t.test("a connection on which nothing arrives any more is given up, and the export goes on", async (t) => {
  const mesh = await started(t);
  const run = exporting(t, `http://127.0.0.1:${mesh.proxy.port}`, tokenOf(mesh.admin), "--follow");
  await mesh.change("one");
  await until(() => run.subjects().includes("one"));
  mesh.proxy.responses = "vanish";
  await mesh.change("two");
  await until(() => mesh.proxy.vanished > 0);
  await until(() => run.errors() !== "", { within: 90_000 });
  t.match(run.errors(), /broke off: nothing came for 45 s\nTrying again/);
  mesh.proxy.responses = "pass";
  mesh.proxy.cut();
  await until(() => run.subjects().includes("two"), { within: 90_000 });
  t.equal(new Set(run.lines()).size, run.lines().length);
});

t.test("a token that ends during the export is said, with the place to go on", async (t) => {
  const mesh = await started(t);
  const created = await call(`${mesh.url}/v1/auth/Keys/Create`, { name: "shipper", admin: true }, mesh.admin);
  const { secret, key } = created.body as { secret: string; key: { prefix: string } };
  const run = exporting(t, mesh.url, secret, "--follow");
  await until(() => run.subjects().includes(key.prefix));
  await call(`${mesh.url}/v1/auth/Keys/Revoke`, { prefix: key.prefix }, mesh.admin);
  t.equal(await run.ended, 4);
  t.match(
    run.errors(),
    /The token in PORTICO_TOKEN is wrong, has expired, or was revoked\.\nPrinted up to \d+\.\d+\. To go on/,
  );
  t.notMatch(run.errors() + run.lines().join(), secret);
});

t.test("a reader that closes its end of the pipe ends the export without an error", async (t) => {
  const mesh = await started(t);
  const run = exporting(t, mesh.url, tokenOf(mesh.admin), "--follow");
  await until(() => run.lines().length > 0);
  run.child.stdout?.destroy();
  await mesh.change("one");
  t.equal(await run.ended, 0);
  t.equal(run.errors(), "");
});
