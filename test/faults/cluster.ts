/** The processes that a fault is tried on: an authority, a gateway near it, one at the edge, and services. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { administrator, call, type Portico, start } from "../server/process.js";
import type { Network } from "./network.js";

export interface ClusterOptions {
  /** The entry of the program, with every safeguard or without one. */
  readonly program: string;
  readonly network: Network;
  /** An empty folder. */
  readonly folder: string;
  /** Of the authority, such as `3s`. */
  readonly lease: string;
}

export const HELLO = "/helloworld/call?name=Ada";

export class Cluster {
  readonly options: ClusterOptions;
  /** Of the authority; the others find their enrolment tokens there. */
  readonly data: string;
  readonly #started: Portico[] = [];
  #authorityAddress: string | undefined;
  #linked = "";

  constructor(options: ClusterOptions) {
    this.options = options;
    this.data = join(options.folder, "data");
    mkdirSync(this.data, { recursive: true });
  }

  /** Starts the authority; each time at the same address. */
  async authority(env: Record<string, string> = {}): Promise<Portico> {
    const { network, lease } = this.options;
    const PORTICO_GRPC = this.#authorityAddress ?? `${network.authorityHost}:0`;
    const authority = await this.#start(["authority"], { PORTICO_GRPC, PORTICO_LEASE: lease, ...env });
    if (this.#authorityAddress === undefined) {
      this.#authorityAddress = authority.address("gRPC");
      this.#linked = await network.link(this.#authorityAddress);
    }
    return authority;
  }

  /** A gateway that reaches the authority whatever becomes of the link. */
  near(env: Record<string, string> = {}): Promise<Portico> {
    return this.#start(["gateway"], { PORTICO_AUTHORITY: this.#authorityAddress!, ...env });
  }

  /** The gateway that the link leads to. */
  edge(): Promise<Portico> {
    const { edgeHost, atEdge } = this.options.network;
    const env = { PORTICO_AUTHORITY: this.#linked, PORTICO_HTTP: `${edgeHost}:0` };
    return this.#start(["gateway"], env, atEdge);
  }

  /** An instance of helloworld, which both gateways reach. */
  service(): Promise<Portico> {
    const { frontHost } = this.options.network;
    const env = { PORTICO_AUTHORITY: this.#authorityAddress!, PORTICO_GRPC: `${frontHost}:0` };
    return this.#start(["service", "helloworld"], env);
  }

  /**
   * An instance of helloworld at the edge, behind the same link. A service judges calls by rules of its own: one that heard of
   * a change would hide what the gateway grants.
   */
  edgeService(): Promise<Portico> {
    const { edgeHost, atEdge } = this.options.network;
    const env = { PORTICO_AUTHORITY: this.#linked, PORTICO_GRPC: `${edgeHost}:0` };
    return this.#start(["service", "helloworld"], env, atEdge);
  }

  /** Another authority on the same store. */
  secondAuthority(): Promise<Portico> {
    return this.#start(["authority"], { PORTICO_LEASE: this.options.lease });
  }

  async stop(): Promise<void> {
    for (const portico of this.#started) portico.child.kill("SIGCONT");
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

  /** Deletes the rule that lets everyone in. Gives when the answer came and how long it took, in milliseconds. */
  async deletePublicRule(): Promise<{ readonly at: number; readonly took: number }> {
    const began = performance.now();
    const { status, body } = await this.#call("Rules/Delete", { id: "default" });
    if (status !== 200) throw new Error(`the rule was not deleted: ${JSON.stringify(body)}`);
    const at = performance.now();
    return { at, took: at - began };
  }

  /** Creates a rule that changes nothing; gives the HTTP status. */
  async createRule(id: string): Promise<number> {
    const rule = { id, scope: "nobody", access: "GRANTED", resource: "service:none:None" };
    return (await this.#call("Rules/Create", { rule })).status;
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

export { call };
