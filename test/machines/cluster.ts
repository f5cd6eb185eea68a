/**
 * Portico on ten machines, and Postgres on another: three authorities, three gateways, and two
 * instances each of two services.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ADMIN_PASSWORD } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { type PostgresServer, startPostgres } from "../support/postgres.js";
import { type Launch, login, type Portico, start } from "../support/process.js";
import { type Machine, Network } from "./network.js";

/** Closes the cluster at its end: a test, or `npm run cluster`. */
export interface Owner {
  teardown(close: () => unknown): void;
}

export const SERVICES = ["helloworld", "id"];
const LEASE = "3s";

/** A process of Portico on its own machine. It always has the same addresses. */
export class Node {
  readonly machine: Machine;
  readonly role: readonly string[];
  readonly #env: Record<string, string>;
  readonly #program: Pick<Launch, "program">;
  #running: Portico | undefined;

  constructor(
    machine: Machine,
    role: readonly string[],
    env: Record<string, string>,
    program: Pick<Launch, "program"> = {},
  ) {
    this.machine = machine;
    this.role = role;
    this.#env = env;
    this.#program = program;
  }

  /** The address at which callers reach a gateway. */
  get http(): string {
    return this.#running!.address("HTTP");
  }

  get grpc(): string {
    return this.#env.PORTICO_GRPC!;
  }

  async start(): Promise<void> {
    this.#running = await start(this.role, this.#env, ".", [], { before: this.machine.before, ...this.#program });
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.#running?.stop(signal);
  }

  signal(signal: NodeJS.Signals): void {
    this.#running?.child.kill(signal);
  }
}

/** The whole cluster, running. */
export interface Cluster {
  readonly network: Network;
  readonly database: PostgresServer;
  readonly databaseMachine: Machine;
  readonly authorities: readonly Node[];
  readonly gateways: readonly Node[];
  readonly services: readonly Node[];
  /** The header with an administrator's token. */
  readonly admin: { readonly authorization: string };
}

/**
 * Starts the cluster. The owner closes it.
 * @param program its path; by default the one in dist
 */
export async function startCluster(owner: Owner, folder: string, program?: string): Promise<Cluster> {
  const network = new Network();
  owner.teardown(() => network.close());
  const databaseMachine = network.add("postgres");
  const database = await startPostgres(owner, { machine: databaseMachine });
  const data = join(folder, "data");
  const nodeOf = async (name: string, role: readonly string[], env: Record<string, string>): Promise<Node> => {
    const machine = network.add(name);
    const at = async (port: number) => `${machine.host}:${network.whyNotCut === undefined ? port : await freePort()}`;
    const ports = { PORTICO_HTTP: await at(8080), PORTICO_GRPC: await at(8081), PORTICO_ADMIN: await at(8082) };
    const all = { ...ports, PORTICO_DATA: data, PORTICO_LEASE: LEASE, ...env };
    return new Node(machine, role, all, program === undefined ? {} : { program });
  };
  const numbered = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name} ${index + 1}`);
  const authorities: Node[] = [];
  for (const name of numbered("authority", 3)) {
    // The folder of the first authority contains the enrolment tokens of the other processes.
    const own = join(folder, name.replace(" ", ""));
    mkdirSync(own, { recursive: true });
    const folders = authorities.length === 0 ? {} : { PORTICO_DATA: own };
    // TLS is not necessary: all packets stay on this machine.
    const url = database.url("portico", { query: "?sslmode=disable" });
    const store = { PORTICO_STORE: url, PORTICO_ADMIN_PASSWORD: ADMIN_PASSWORD };
    authorities.push(await nodeOf(name, ["authority"], { ...store, ...folders }));
  }
  const joined = { PORTICO_AUTHORITY: authorities.map(({ grpc }) => grpc).join(",") };
  const gateways = await Promise.all(numbered("gateway", 3).map((name) => nodeOf(name, ["gateway"], joined)));
  const services = await Promise.all(
    SERVICES.flatMap((service) => numbered(service, 2).map((name) => nodeOf(name, ["service", service], joined))),
  );
  const nodes = [...authorities, ...gateways, ...services];
  owner.teardown(() => Promise.all(nodes.map((node) => node.stop("SIGKILL"))));
  for (const authority of authorities) await authority.start();
  await Promise.all([...gateways, ...services].map((node) => node.start()));
  // Until the gateway knows the authorities, it responds with 404.
  const admin = await login(gateways[0]!.http, ADMIN_PASSWORD, [404, 503]);
  return { network, database, databaseMachine, authorities, gateways, services, admin };
}
