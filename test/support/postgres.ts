/**
 * Real Postgres servers for tests. Each has its own folder and a free port on loopback, and is
 * stopped and removed with its test. The role `portico` owns the database `portico` and needs its
 * password; the superuser connects through the unix socket.
 *
 * A server does not wait for the disk (`fsync = off`), which matters only if the whole machine
 * crashes; `settings` can turn it on.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { Test } from "tap";
import type { Certified } from "../http2/certificates.js";
import { freePort } from "./ports.js";
import { inTime, MAX_WAIT, until } from "./until.js";

/** The password of the role `portico`. No output may contain it. */
export const PASSWORD = "secret-of-portico";
/** The folder where Debian installs a version's programs; other systems have them in PATH. */
const DEBIAN = "/usr/lib/postgresql";
const IS_ROOT = process.getuid?.() === 0;

const programs = findPrograms();

/** Why there is no Postgres to test with; `false` if there is one. For tap's `skip`. */
export const noPostgres: string | false = reasonToSkip();

function findPrograms(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(DEBIAN, version, "bin")), ...(process.env.PATH ?? "").split(":")];
  return folders.find((folder) => existsSync(join(folder, "initdb")));
}

function reasonToSkip(): string | false {
  if (programs === undefined) return "there is no Postgres here";
  if (IS_ROOT && postgresUser() === undefined) return "Postgres cannot run as root, and there is no user postgres here";
  return false;
}

/** The user that servers run as if the tests run as root: Postgres refuses to run as root. */
function postgresUser(): { readonly uid: number; readonly gid: number } | undefined {
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync("/etc/passwd", "utf8")) ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/**
 * The command that runs a program of Postgres. It is killed when this process ends.
 * @param before a command that runs the program elsewhere, such as `ip netns exec edge`
 */
function command(program: string, args: readonly string[], before: readonly string[] = []): [string, string[]] {
  const user = IS_ROOT ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];
  const [first = "", ...rest] = [...before, "setpriv", ...user, "--pdeathsig=KILL", join(programs ?? "", program)];
  return [first, [...rest, ...args]];
}

function run(program: string, args: readonly string[], input = ""): void {
  const { status, stderr } = spawnSync(...command(program, args), { input, encoding: "utf8", cwd: tmpdir() });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${stderr}`);
}

/** Makes a folder that belongs to the user that servers run as. */
function makeFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const user = IS_ROOT ? postgresUser() : undefined;
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** Writes a file that only the servers' user may read: Postgres requires this for a key. */
function writePrivate(file: string, content: Buffer): void {
  writeFileSync(file, content, { mode: 0o600 });
  const user = IS_ROOT ? postgresUser() : undefined;
  if (user !== undefined) chownSync(file, user.uid, user.gid);
}

const SETUP = `CREATE ROLE portico LOGIN PASSWORD '${PASSWORD}';

CREATE DATABASE portico OWNER portico;

`;
/**
 * The unix socket and replication need no password. All other connections by the network need one.
 */
const HBA_RULES = `local all,replication all trust
host replication all 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
`;

/** A cluster to copy, made once per machine. Its path names the version and the user. */
function template(): string {
  const version = (programs ?? "").replace(/\D+/g, "") || "0";
  const folder = join(tmpdir(), `portico-postgres-${version}-${userInfo().username}-1`);
  if (existsSync(folder)) return folder;
  const draft = makeFolder("portico-postgres-draft-");
  const locale = ["--encoding=UTF8", "--locale=C.UTF-8", "--username=postgres", "--auth=trust"];
  run("initdb", ["--pgdata", draft, ...locale, "--no-sync", "--wal-segsize=1"]);
  run("postgres", ["--single", "-j", "-D", draft, "postgres"], SETUP);
  writeFileSync(join(draft, "pg_hba.conf"), HBA_RULES);
  try {
    renameSync(draft, folder);
  } catch {
    rmSync(draft, { recursive: true }); // Another test has made it already.
  }
  return folder;
}

/** The time limits of a statement that the test itself runs, in milliseconds. */
const TIME_LIMITS = { connectionTimeoutMillis: MAX_WAIT, query_timeout: MAX_WAIT };

const LOOPBACK = { host: "127.0.0.1", before: [] };

/** Settings of every server, for a small one that starts and stops quickly. */
const SETTINGS = {
  fsync: "off",
  shared_buffers: "8MB",
  max_wal_size: "32MB",
  max_wal_senders: "4",
  wal_receiver_status_interval: "1s",
  log_line_prefix: "%p ",
} as const;

/** How a server differs from the default. */
export interface PostgresOptions {
  /** Settings of postgresql.conf, such as `{ fsync: "on" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Accepts only TLS connections, with this certificate, except through the unix socket. */
  readonly certificate?: Certified;
  /**
   * The folder for the cluster, such as a small disk. It must be empty and belong to the user
   * `postgres`.
   */
  readonly folder?: string;
  /**
   * The address at which others reach the server, and the command that runs it there; default
   * loopback, on this machine.
   */
  readonly machine?: { readonly host: string; readonly before: readonly string[] };
}

/** The scope of a server, such as a test: the server ends with it. */
type Owner = Pick<Test, "teardown">;

/** Starts a server, which is stopped when the test ends. */
export async function startPostgres(t: Owner, options: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = options.folder ?? makeFolder("portico-pg-");
  const data = join(folder, "data");
  // `cp -a` keeps the owner; cpSync does not.
  const { status, stderr } = spawnSync("cp", ["-a", template(), data], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the cluster could not be copied: ${stderr}`);
  const settings: Record<string, string> = { ...SETTINGS, ...options.settings };
  if (options.certificate !== undefined) {
    writePrivate(join(data, "server.crt"), options.certificate.cert);
    writePrivate(join(data, "server.key"), options.certificate.key);
    settings.ssl = "on";
    writeFileSync(join(data, "pg_hba.conf"), HBA_RULES.replace("host all", "hostssl all"));
  }
  if (options.machine !== undefined) {
    appendFileSync(join(data, "pg_hba.conf"), "host all all samenet scram-sha-256\n");
  }
  return serve(t, folder, settings, options.machine);
}

async function serve(
  t: Owner,
  folder: string,
  settings: Record<string, string>,
  machine: PostgresOptions["machine"] = LOOPBACK,
): Promise<PostgresServer> {
  const server = new PostgresServer(folder, await freePort(), { settings, machine }, t);
  t.teardown(async () => {
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  await server.start();
  return server;
}

/** A running server, and the failures that a test can cause. */
export class PostgresServer {
  readonly port: number;
  readonly #folder: string;
  readonly #settings: Record<string, string>;
  readonly #t: Owner;
  readonly #machine: NonNullable<PostgresOptions["machine"]>;
  #child: ChildProcess | undefined;
  #log = "";
  #databases = 0;

  constructor(
    folder: string,
    port: number,
    { settings, machine }: { settings: Record<string, string>; machine: NonNullable<PostgresOptions["machine"]> },
    t: Owner,
  ) {
    this.#folder = folder;
    this.port = port;
    this.#settings = settings;
    this.#machine = machine;
    this.#t = t;
  }

  /**
   * The URL of a database, for PORTICO_STORE.
   * @param options.through another port, such as a proxy's
   */
  url(database = "portico", { through = this.port, query = "" } = {}): string {
    return `postgres://portico:${PASSWORD}@${this.#machine.host}:${through}/${database}${query}`;
  }

  /** The text that the server has written to its log until now. */
  get log(): string {
    return this.#log;
  }

  /**
   * Makes an empty database that the role `portico` owns.
   * @returns its name
   */
  async createDatabase(): Promise<string> {
    const name = `test_${this.#databases++}`;
    await this.query(`CREATE DATABASE ${name} OWNER portico`);
    return name;
  }

  /** Runs a statement as the superuser. */
  async query(text: string, database = "portico"): Promise<Record<string, unknown>[]> {
    const client = await this.#connect(database);
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  /**
   * Runs a statement as the superuser in a transaction that stays open and keeps its locks.
   * @returns a function that commits the transaction
   */
  async hold(text: string, database = "portico"): Promise<() => Promise<void>> {
    const client = await this.#connect(database);
    await client.query(`BEGIN; ${text}`);
    return async () => {
      await client.query("COMMIT");
      await client.end();
    };
  }

  async #connect(database: string): Promise<pg.Client> {
    const { host, port } = { host: this.#folder, port: this.port };
    const client = new pg.Client({ host, port, user: "postgres", database, ...TIME_LIMITS });
    // When the server stops, it ends this connection too.
    client.on("error", () => undefined);
    await client.connect();
    return client;
  }

  /** Starts the server, and waits until it accepts connections. */
  async start(): Promise<void> {
    const addresses = {
      port: `${this.port}`,
      listen_addresses: this.#machine.host,
      unix_socket_directories: this.#folder,
    };
    const settings = Object.entries({ ...addresses, ...this.#settings });
    const flags = settings.flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const arguments_ = ["-D", join(this.#folder, "data"), ...flags];
    const [program, args] = command("postgres", arguments_, this.#machine.before);
    const child = spawn(program, args, { cwd: tmpdir(), stdio: ["ignore", "ignore", "pipe"] });
    this.#child = child;
    let started = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      started += text;
      this.#log += text;
    });
    const isStarted = (): boolean => / ready to accept (?:read-only )?connections/.test(started);
    await until(() => isStarted() || child.exitCode !== null, { what: () => `Postgres starts; it logged ${started}` });
    if (child.exitCode !== null) throw new Error(`Postgres did not start: ${started}`);
  }

  /** Stops the server as an operator does: connections are ended, and committed data is kept. */
  async stop(): Promise<void> {
    if (!this.runs()) return;
    const ended = once(this.#child!, "exit");
    this.#child!.kill("SIGINT");
    await inTime(ended, () => `Postgres stops; it logged ${this.#log.slice(-2_000)}`);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Kills all processes of the server at once. */
  async kill(): Promise<void> {
    if (!this.runs()) return;
    const ended = once(this.#child!, "exit");
    const processes = this.#signal("SIGKILL");
    await inTime(ended, "the first process of Postgres ends");
    await until(() => !processes.some((pid) => existsSync(`/proc/${pid}`)));
  }

  /**
   * Pauses all processes of the server, like a computer that hangs: connections stay open, and no
   * request gets a response.
   */
  pause(): void {
    this.#signal("SIGSTOP");
  }

  resume(): void {
    this.#signal("SIGCONT");
  }

  /** Changes settings of the running server. */
  async set(settings: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(settings)) await this.query(`ALTER SYSTEM SET ${name} = '${value}'`);
    await this.query("SELECT pg_reload_conf()");
    for (const [name, value] of Object.entries(settings)) {
      await until(async () => (await this.query(`SHOW ${name}`))[0]?.[name] === value);
    }
  }

  /** Starts a standby of this server, and waits until it receives this server's commits. */
  async standby(): Promise<PostgresServer> {
    const folder = makeFolder("portico-pg-");
    const data = join(folder, "data");
    const from = ["--host", this.#folder, "--port", `${this.port}`, "--username", "postgres"];
    run("pg_basebackup", ["--pgdata", data, ...from, "--wal-method=stream", "--checkpoint=fast", "--no-sync"]);
    const primary = `host=${this.#folder} port=${this.port} user=postgres application_name=standby`;
    appendFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${primary}'\n`);
    writePrivate(join(data, "standby.signal"), Buffer.alloc(0));
    const standby = await serve(this.#t, folder, this.#settings);
    await until(async () => {
      return (await this.query("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")).length > 0;
    });
    return standby;
  }

  /** Promotes a standby to primary. */
  async promote(): Promise<void> {
    await this.query("SELECT pg_promote()");
  }

  /** Whether the server's main process runs. */
  runs(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Sends a signal to every process of the server. Each process has its own session, so they are
   * found by their parent.
   * @returns the IDs of the processes
   */
  #signal(signal: NodeJS.Signals): number[] {
    const { pid } = this.#child ?? {};
    const processes = pid === undefined ? [] : [pid, ...childrenOf(pid)];
    for (const each of processes) {
      try {
        process.kill(each, signal);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    return processes;
  }
}

function childrenOf(parent: number): number[] {
  const children: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      // Behind the program's name, which may contain spaces, are its state and its parent.
      const [, ppid] = /.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, "utf8")) ?? [];
      if (Number(ppid) === parent) children.push(Number(name));
    } catch {
      // The process has ended.
    }
  }
  return children;
}
