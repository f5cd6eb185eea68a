/**
 * Three authorities on one database, two gateways behind haproxy, and two instances of a service.
 * Each can be stopped and started again.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { ADMIN_PASSWORD } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { type Launch, type Portico, start } from "../../support/process.js";
import { MAX_WAIT } from "../../support/until.js";

export type Role = "authority" | "gateway" | "service";

/**
 * Much longer than haproxy takes to notice a stop, and than guards take to switch to another
 * authority, on a busy machine.
 */
const NOTICE = { PORTICO_DRAIN_NOTICE: "8s", PORTICO_DRAIN: "20s" };

/** A process that has the same addresses after each start. */
export class Member {
  readonly name: string;
  readonly role: Role;
  readonly address: string;
  readonly #env: Record<string, string>;
  #running: Portico | undefined;

  constructor(name: string, role: Role, address: string, env: Record<string, string>) {
    this.name = name;
    this.role = role;
    this.address = address;
    this.#env = env;
  }

  get child() {
    return this.#running!.child;
  }

  get errors(): string {
    return this.#running?.errors() ?? "";
  }

  async start(launch: Launch = {}): Promise<void> {
    const role = this.role === "service" ? ["service", "helloworld"] : [this.role];
    this.#running = await start(role, this.#env, ".", [], launch);
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    await this.#running?.stop(signal);
  }
}

export interface Several {
  readonly authorities: readonly Member[];
  readonly gateways: readonly Member[];
  readonly services: readonly Member[];
  /** The URL of haproxy. */
  readonly url: string;
  /** The header with an administrator's token. */
  readonly admin: { readonly authorization: string };
}

/** @param store URL of the database */
export async function startSeveral(t: Test, store: string, lease = "5s"): Promise<Several> {
  const folder = t.testdir({});
  const ports = await Promise.all(Array.from({ length: 8 }, () => freePort()));
  const at = (index: number): string => `127.0.0.1:${ports[index]}`;
  const data = (name: string): string => {
    mkdirSync(join(folder, name), { recursive: true });
    return join(folder, name);
  };
  const authorities = [0, 1, 2].map((index) => {
    const name = `authority ${index + 1}`;
    const own = { PORTICO_DATA: data(`authority${index}`), PORTICO_GRPC: at(index) };
    const shared = { PORTICO_STORE: store, PORTICO_LEASE: lease, PORTICO_ADMIN_PASSWORD: ADMIN_PASSWORD };
    return new Member(name, "authority", at(index), { ...own, ...shared, ...NOTICE });
  });
  // The first authority initializes the store, and writes the enrolment tokens into its folder.
  for (const authority of authorities) await authority.start();
  const joined = { PORTICO_DATA: data("authority0"), PORTICO_AUTHORITY: [0, 1, 2].map(at).join(",") };
  const gateways = [3, 4].map((index) => {
    const env = { ...joined, PORTICO_HTTP: at(index), ...NOTICE };
    return new Member(`gateway ${index - 2}`, "gateway", at(index), env);
  });
  const services = [5, 6].map((index) => {
    return new Member(`service ${index - 4}`, "service", at(index), { ...joined, PORTICO_GRPC: at(index) });
  });
  const members = [...authorities, ...gateways, ...services];
  t.teardown(() => Promise.all(members.map((member) => member.stop("SIGKILL"))));
  await Promise.all([...gateways, ...services].map((member) => member.start()));
  const url = await balance(t, folder, ports[7]!, gateways);
  return { authorities, gateways, services, url, admin: await login(url) };
}

async function login(url: string): Promise<{ authorization: string }> {
  for (const late = AbortSignal.timeout(MAX_WAIT); ; ) {
    const response = await post(`${url}/auth/login`, { account: "admin", password: ADMIN_PASSWORD });
    if (response.status === 200) return { authorization: `Bearer ${response.body.accessToken}` };
    if ([0, 404, 503].includes(response.status) && !late.aborted) continue;
    throw new Error(`the login was answered ${JSON.stringify(response)}`);
  }
}

/** The members of responses that these tests read. */
interface Body {
  readonly Detail?: string;
  readonly accessToken?: string;
  readonly secret?: string;
  readonly key?: { readonly prefix: string };
}

/** The response to a JSON request. Its status is 0 if the connection failed. */
export async function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Body }> {
  try {
    const response = await fetch(url, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
      signal: AbortSignal.timeout(20_000),
    });
    return { status: response.status, body: (await response.json()) as Body };
  } catch (error) {
    return { status: 0, body: { Detail: `${(error as Error).cause ?? error}` } };
  }
}

/** haproxy without retries, so that a call that a gateway loses is visible. */
async function balance(t: Test, folder: string, port: number, gateways: readonly Member[]): Promise<string> {
  const file = join(folder, "haproxy.cfg");
  writeFileSync(
    file,
    `
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout check 20s
  retries 0
frontend door
  bind 127.0.0.1:${port}
  default_backend gateways
backend gateways
  option httpchk GET /readyz
  default-server check inter 200ms fall 1 rise 1
${gateways.map(({ address }, index) => `  server gateway${index + 1} ${address}`).join("\n")}
`,
  );
  const haproxy = spawn("haproxy", ["-db", "-f", file], { stdio: ["ignore", "ignore", "inherit"] });
  await once(haproxy, "spawn");
  t.teardown(() => haproxy.kill("SIGKILL"));
  return `http://127.0.0.1:${port}`;
}

export const hasHaproxy = await once(spawn("haproxy", ["-v"], { stdio: "ignore" }), "spawn").then(
  () => true,
  () => false,
);
