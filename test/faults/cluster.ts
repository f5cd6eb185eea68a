/**
 * The processes for the test of a fault: an authority, a gateway near it, a gateway at the edge,
 * and services.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { administrator, call, type Portico, start } from "../support/process.js";
import type { Network } from "./network.js";

export interface ClusterOptions {
  /** The path of the program, with every safeguard or without one. */
  readonly program: string;
  readonly network: Network;
  /** An empty folder. */
  readonly folder: string;
  /** The authority's setting, such as `3s`. */
  readonly lease: string;
}

export const HELLO = "/helloworld/call?name=Ada";
export const GREET = "/greeter/greet?first_name=Ada";

export class Cluster {
  readonly options: ClusterOptions;
  /** The data folder of the authority. The other processes find their enrolment tokens there. */
  readonly data: string;
  readonly #started: Portico[] = [];
  readonly #external: ChildProcess[] = [];
  #authority: Portico | undefined;
  #authorityAddress: string | undefined;
  #linked = "";

  constructor(options: ClusterOptions) {
    this.options = options;
    this.data = join(options.folder, "data");
    mkdirSync(this.data, { recursive: true });
  }

  /** Starts the authority, always at the same address. */
  async authority(env: Record<string, string> = {}): Promise<Portico> {
    const { network, lease } = this.options;
    const PORTICO_GRPC = this.#authorityAddress ?? `${network.authorityHost}:0`;
    const authority = await this.#start(["authority"], { PORTICO_GRPC, PORTICO_LEASE: lease, ...env });
    this.#authority = authority;
    if (this.#authorityAddress === undefined) {
      this.#authorityAddress = authority.address("gRPC");
      this.#linked = await network.link(this.#authorityAddress);
    }
    return authority;
  }

  /** Kills the authority, and starts it again at the same address. */
  async restartAuthority(): Promise<void> {
    await this.#authority?.stop("SIGKILL");
    await this.authority();
  }

  /** Starts a gateway that always reaches the authority: it does not use the link. */
  near(env: Record<string, string> = {}): Promise<Portico> {
    return this.#start(["gateway"], { PORTICO_AUTHORITY: this.#authorityAddress!, ...env });
  }

  /** Starts the gateway that reaches the authority through the link. */
  edge(): Promise<Portico> {
    const { edgeHost, atEdge } = this.options.network;
    const env = { PORTICO_AUTHORITY: this.#linked, PORTICO_HTTP: `${edgeHost}:0` };
    return this.#start(["gateway"], env, atEdge);
  }

  /** Starts an instance of helloworld, which both gateways reach. */
  service(): Promise<Portico> {
    const { frontHost } = this.options.network;
    const env = { PORTICO_AUTHORITY: this.#authorityAddress!, PORTICO_GRPC: `${frontHost}:0` };
    return this.#start(["service", "helloworld"], env);
  }

  /**
   * Starts an external service without rules, configured as `greeter`. Must be called before the
   * authority starts. Only the gateway authorizes calls to it. A built-in service would have its
   * own guard, which accepts caller assertions of a gateway only for one lease.
   */
  async externalService(): Promise<void> {
    await this.#serveAtEdge("greeter", "examples/external-greeter", "examples/external-greeter/server.js");
  }

  /**
   * Starts an external service beside the edge, which streams for ever: `/ticker/Ticker/Tick`. It
   * has no guard.
   */
  async ticker(): Promise<void> {
    await this.#serveAtEdge("ticker", "test/faults/ticker.proto", "test/faults/ticker.mjs");
  }

  async #serveAtEdge(name: string, contract: string, script: string): Promise<void> {
    const descriptors = join(this.data, `${name}.binpb`);
    execFileSync("node_modules/.bin/buf", ["build", contract, "-o", descriptors]);
    const { edgeHost, atEdge } = this.options.network;
    const program = [process.execPath, script, `${edgeHost}:0`];
    const [command, ...args] = [...atEdge, ...program] as [string, ...string[]];
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#external.push(child);
    const [line] = await once(child.stdout.setEncoding("utf8"), "data", { signal: AbortSignal.timeout(10_000) });
    const target = /listening on (\S+)/.exec(line)?.[1];
    writeFileSync(join(this.data, "portico.json"), JSON.stringify({ services: [{ name, target, descriptors }] }));
  }

  /** Starts another authority on the same store. */
  secondAuthority(): Promise<Portico> {
    return this.#start(["authority"], { PORTICO_LEASE: this.options.lease });
  }

  /**
   * Repeats a request until its response is as wanted, for at most ten seconds.
   * @returns the last response
   */
  async until<T>(ask: () => Promise<T>, isWanted: (response: T) => boolean): Promise<T> {
    const late = performance.now() + 10_000;
    for (;;) {
      const response = await ask();
      if (isWanted(response) || performance.now() > late) return response;
      await sleep(50);
    }
  }

  /** Resolves when a gateway gets responses from a service. */
  async responses(gateway: Portico, path = HELLO): Promise<void> {
    const status = await this.until(
      async () => (await fetch(gateway.address("HTTP") + path)).status,
      (status) => status === 200,
    );
    if (status !== 200) throw new Error(`${path} is answered by ${status}`);
  }

  /** Resolves when the registry lists `wanted` instances of helloworld. */
  async instances(gateway: Portico, wanted: number): Promise<void> {
    const count = async () => {
      const { body } = await call(`${gateway.address("HTTP")}/v1/registry/List`, {}, await this.#admin(gateway));
      const { services } = body as { services: { name: string; instances: number }[] };
      return services.find(({ name }) => name === "helloworld")?.instances;
    };
    const found = await this.until(count, (instances) => instances === wanted);
    if (found !== wanted) throw new Error(`there are ${found} instances of helloworld`);
  }

  #admin(gateway: Portico): Promise<{ authorization: string }> {
    return administrator(gateway.address("HTTP"), this.data);
  }

  async stop(): Promise<void> {
    for (const portico of this.#started) portico.child.kill("SIGCONT");
    for (const child of this.#external) child.kill("SIGKILL");
    await Promise.all(this.#started.map((portico) => portico.stop("SIGKILL")));
  }

  async #start(role: readonly string[], env: Record<string, string>, before: readonly string[] = []): Promise<Portico> {
    const { program } = this.options;
    const settings = { PORTICO_DATA: this.data, PORTICO_LOG_LEVEL: "silent", PORTICO_DRAIN_NOTICE: "0s", ...env };
    const portico = await start(role, settings, ".", [], { program, before });
    this.#started.push(portico);
    return portico;
  }
}

/** What an administrator does at a gateway. */
export class Administrator {
  readonly #http: string;
  readonly #headers: { authorization: string };

  private constructor(http: string, headers: { authorization: string }) {
    this.#http = http;
    this.#headers = headers;
  }

  static async login(gateway: Portico, data: string): Promise<Administrator> {
    const http = gateway.address("HTTP");
    return new Administrator(http, await administrator(http, data));
  }

  get token(): string {
    return this.#headers.authorization;
  }

  /**
   * Deletes the rule that admits all callers. Tries again while the authority cannot be reached.
   * @returns when the response came (`performance.now()`), and how long it took, in milliseconds
   */
  async deletePublicRule(): Promise<{ readonly at: number; readonly took: number }> {
    for (const late = performance.now() + 10_000; ; await sleep(50)) {
      const began = performance.now();
      const { status, body } = await this.#call("Rules/Delete", { id: "default" });
      const at = performance.now();
      if (status === 200) return { at, took: at - began };
      if (status !== 503 || at > late) throw new Error(`the rule was not deleted: ${JSON.stringify(body)}`);
    }
  }

  /**
   * Creates a rule that changes nothing.
   * @returns the HTTP status
   */
  async createRule(id: string): Promise<number> {
    const rule = { id, scope: "nobody", access: "GRANTED", resource: "service:none:None" };
    return (await this.#call("Rules/Create", { rule })).status;
  }

  /** Creates a limit of calls. It holds when this resolves. */
  async createLimit(limit: Readonly<Record<string, unknown>>): Promise<void> {
    const { status, body } = await this.#call("Limits/Create", { limit });
    if (status !== 200) throw new Error(`the limit was not created: ${JSON.stringify(body)}`);
  }

  async #call(endpoint: string, body: unknown) {
    const response = await fetch(`${this.#http}/v1/auth/${endpoint}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...this.#headers },
      signal: AbortSignal.timeout(90_000),
    });
    return { status: response.status, body: (await response.json()) as unknown };
  }
}
