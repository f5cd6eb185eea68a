/**
 * A gateway with services of every kind, and the clients that `portico client` generates for them.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { Test } from "tap";
import { createStudio } from "../../docs/studio.js";
import { deploy, login } from "../../gateway/deployment.js";
import { Feed } from "../../gateway/dialects/json/streams/feed.js";
import { createKinds } from "../../gateway/openapi/kinds.js";
import { createAwkward } from "./awkward.js";
import { hostileDocument } from "./hostile.js";

export interface TestGateway {
  readonly url: string;
  readonly token: string;
}

/**
 * Has the services helloworld, auth, registry, kinds (every type), probe (failures), studio (bytes,
 * WebSockets), feed (streams of every shape) and awkward (names that have a meaning in a language).
 */
export async function openTestGateway(t: Test): Promise<TestGateway> {
  const { handler, gateway, close } = await deploy(t.testdir(), {
    services: [createKinds(), createStudio(), new Feed().service, createAwkward()],
  });
  t.teardown(close);
  const token = await login(handler, "admin");
  return { url: `http://127.0.0.1:${gateway.address.port}`, token };
}

/**
 * Packages that clients in Python need, and tools that check them. All tests share one
 * installation.
 */
export const PYTHON_PACKAGES = ["httpx==0.28.1", "websockets==17.4", "ruff==0.17.6", "mypy==2.4.1"] as const;

interface Finished {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program until it ends. */
export async function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string | undefined>> } = {},
): Promise<Finished> {
  const { cwd, env } = options;
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { status, stdout, stderr };
}

/** Runs the command line as the administrator. */
export async function portico({ url, token }: TestGateway, ...args: readonly string[]): Promise<string> {
  const env = { PORTICO_URL: url, PORTICO_TOKEN: token };
  const { status, stdout, stderr } = await run(process.execPath, [resolve("dist/portico.js"), ...args], { env });
  if (status !== 0) throw new Error(`portico ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** A gateway that serves one document: of a malicious service. */
export async function openHostileGateway(t: Test): Promise<TestGateway> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json").end(hostileDocument());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: "" };
}
