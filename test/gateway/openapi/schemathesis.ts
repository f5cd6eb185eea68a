/** Runs schemathesis (https://schemathesis.readthedocs.io) against a gateway. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { pythonPrograms } from "../../outside/tools.js";
import { deploy, login } from "../deployment.js";
import { createKinds } from "./kinds.js";

export interface Run {
  readonly title: string;
  readonly service: string;
  /** Which operations to test, and other arguments. */
  readonly args: readonly string[];
  /** Whether to send a token. Without one, only calls that a `<public>` rule grants succeed. */
  readonly token?: boolean;
}

/** The address of a gateway, and a token of its administrator. */
export interface TestGateway {
  readonly url: string;
  readonly token: string;
}

/** A gateway with helloworld and a service with every kind of field. */
export async function openKinds(t: Test): Promise<TestGateway> {
  const deployment = await deploy(t.testdir(), { services: [createKinds()], level: "warn" });
  t.teardown(() => deployment.close());
  const token = await login(deployment.handler, "admin");
  return { url: `http://127.0.0.1:${deployment.gateway.address.port}`, token };
}

/**
 * Runs each with all of schemathesis' checks and with the same cases each time, and expects that it
 * finds nothing.
 */
export async function disagreements(runs: readonly Run[], open = openKinds): Promise<void> {
  t.setTimeout(600_000);
  const programs = pythonPrograms("schemathesis==4.32.5");
  if (programs === undefined) return void t.test("schemathesis", { skip: "there is no Python here" }, async () => {});
  const { url, token } = await open(t);
  for (const { title, service, args, token: withToken = true } of runs) {
    const authorization = withToken ? ["-H", `Authorization: Bearer ${token}`] : [];
    const all = ["run", `${url}/openapi/${service}.json`, "--seed=1", "--max-examples=20", ...authorization, ...args];
    t.test(title, (t) => finds(t, join(programs, "schemathesis"), all));
  }
}

async function finds(t: Test, program: string, args: readonly string[]): Promise<void> {
  // A separate folder, because schemathesis stores its findings there and would try them first the
  // next time.
  const cwd = t.testdir();
  const env = {
    PATH: process.env.PATH,
    PYTHONDONTWRITEBYTECODE: "1",
    SCHEMATHESIS_HOOKS: resolve("test/gateway/openapi/hooks.py"),
  };
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => child.kill());
  const [output, [status]] = await Promise.all([text(child.stdout), once(child, "close")]);
  const cases = /^ +(\d+) generated, \1 passed.*$/m.exec(output)?.[0].trim();
  t.equal(status, 0, cases ?? "it ends well");
  t.ok(cases, "all that it generated passed");
  if (status !== 0 || cases === undefined) t.comment(output);
}
