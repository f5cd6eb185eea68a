/** Runs the built program as a user would, on free ports and in its own folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { inTime, until } from "./until.js";

const PROGRAM = resolve("dist/portico.js");
const START_TIME = 60_000;
/** Longer than any drain in the tests, in milliseconds. */
const STOP_TIME = 60_000;
/** No load balancer needs time to notice that the process stops. */
const QUICK_STOP = { PORTICO_DRAIN_NOTICE: "0s" };

export interface Portico {
  /** The text printed on stdout until now. */
  readonly output: () => string;
  readonly errors: () => string;
  /** The address that the banner prints for a word, such as `HTTP` or `gRPC`. */
  address(word: string): string;
  readonly child: ChildProcess;
  /**
   * Sends SIGTERM (or another signal).
   * @returns the exit code
   */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/**
 * Another build of the program, and a command that runs it elsewhere, such as `ip netns exec edge`.
 */
export interface Launch {
  readonly program?: string;
  readonly before?: readonly string[];
}

/**
 * Runs a role, in this folder or another one, and waits until it prints that it is ready.
 * @param flags flags of Node
 */
export async function start(
  role: readonly string[],
  env: Record<string, string>,
  cwd = ".",
  flags: readonly string[] = [],
  { program = PROGRAM, before = [] }: Launch = {},
): Promise<Portico> {
  const ports = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };
  const [command, ...args] = [...before, process.execPath, ...flags, program, ...role] as [string, ...string[]];
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: env.PORTICO_DATA, PORTICO_LOG_LEVEL: "warn", ...QUICK_STOP, ...ports, ...env },
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
  });
  await ready(child, () => output);
  return {
    output: () => output,
    errors: () => errors,
    address: (word) => new RegExp(`^ *${word} +(\\S+)`, "m").exec(output)?.[1] ?? "",
    child,
    stop: async (signal = "SIGTERM") => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const exit = once(child, "exit");
      child.kill(signal);
      await inTime(exit, () => `portico ${role.join(" ")} ends by ${signal}; it printed ${output}${errors}`, STOP_TIME);
      return child.exitCode;
    },
  };

  async function ready(process: ChildProcess, printed: () => string): Promise<void> {
    const late = AbortSignal.timeout(START_TIME);
    let ended = false;
    // Not "exit": at that event, some of the output has not been read yet.
    process.once("close", () => {
      ended = true;
    });
    while (!/^ *(?:Ready|Not ready)/m.test(printed())) {
      if (ended || late.aborted) {
        process.kill("SIGKILL");
        throw new Error(`portico ${role.join(" ")} did not start (exit ${process.exitCode}):\n${output}${errors}`);
      }
      await Promise.race([
        once(process.stdout!, "data", { signal: late }).catch(() => undefined),
        once(process, "close", { signal: late }).catch(() => undefined),
      ]);
    }
  }
}

/**
 * Runs a role that must refuse to start.
 * @returns its exit code and its output
 */
export async function refused(role: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [PROGRAM, ...role], {
    env: { PATH: process.env.PATH, HOME: env.PORTICO_DATA, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: START_TIME,
    killSignal: "SIGKILL",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const [code] = await once(child, "close");
  return { code: code as number | null, output };
}

/** Calls a JSON endpoint and returns the response. */
export async function call(url: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/**
 * Logs the administrator in, with the password from the data folder.
 * @returns the header that carries the token
 */
export function administrator(http: string, data: string): Promise<{ authorization: string }> {
  // On a busy computer a guard may be without a lease for a moment.
  return login(http, readFileSync(join(data, "admin-password"), "utf8").trim(), [503]);
}

/**
 * Logs the administrator in.
 * @param retried the statuses after which the login is tried again
 * @returns the header that carries the token
 */
export async function login(http: string, password: string, retried: readonly number[]) {
  for (const late = AbortSignal.timeout(START_TIME); ; ) {
    const { status, body } = await call(`${http}/auth/login`, { account: "admin", password });
    if (status === 200) return { authorization: `Bearer ${(body as { accessToken: string }).accessToken}` };
    if (retried.includes(status) && !late.aborted) continue;
    throw new Error(`the login was answered ${status}: ${JSON.stringify(body)}`);
  }
}

/**
 * Repeats a call until the response has the status.
 * @throws {Error} if it never has, with the last response
 */
export async function answered(ask: () => ReturnType<typeof call>, status: number): Promise<void> {
  let last: unknown;
  const isSo = async (): Promise<boolean> => {
    const response = await ask();
    last = [response.status, response.body];
    return response.status === status;
  };
  await until(isSo, { what: () => `an answer has status ${status}; the last one was ${JSON.stringify(last)}` });
}
