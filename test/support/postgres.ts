/**
 * Real servers of Postgres for tests: each in a folder of its own, on a free port of loopback, ended and removed with its
 * test. The role `portico` owns the database `portico` and needs its password; the superuser comes by the unix socket.
 *
 * A server does not wait for the disk (`fsync = off`), which only a crash of the machine can show; `settings` turn it on.
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

/** Of the role `portico`. No output may have it. */
export const PASSWORD = "secret-of-portico";
/** Debian keeps a version's programs here; other systems have them in the path. */
const DEBIAN = "/usr/lib/postgresql";
const IS_ROOT = process.getuid?.() === 0;

const programs = findPrograms();

/** Why there is no Postgres to test with: for `skip`, which takes `false` as a reason to run. */
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

/** The user that servers run as, where the tests run as root: Postgres refuses to. */
function postgresUser(): { readonly uid: number; readonly gid: number } | undefined {
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync("/etc/passwd", "utf8")) ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** A program of Postgres and its arguments as a command, behind what stands before it. It is killed when this process is. */
function command(program: string, args: readonly string[], before: readonly string[] = []): [string, string[]] {
  const user = IS_ROOT ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];
  const [first = "", ...rest] = [...before, "setpriv", ...user, "--pdeathsig=KILL", join(programs ?? "", program)];
  return [first, [...rest, ...args]];
}

function run(program: string, args: readonly string[], input = ""): void {
  const { status, stderr } = spawnSync(...command(program, args), { input, encoding: "utf8", cwd: tmpdir() });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${stderr}`);
}

/** A folder of the user that servers run as. */
function makeFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const user = IS_ROOT ? postgresUser() : undefined;
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** A file of the user that servers run as, which Postgres requires of a key. */
function writePrivate(file: string, content: Buffer): void {
  writeFileSync(file, content, { mode: 0o600 });
  const user = IS_ROOT ? postgresUser() : undefined;
  if (user !== undefined) chownSync(file, user.uid, user.gid);
}

const SETUP = `CREATE ROLE portico LOGIN PASSWORD '${PASSWORD}';

CREATE DATABASE portico OWNER portico;

`;
/** By the unix socket nobody is asked for a password; by the network all are, but for standbys. */
const CLIENTS = `local all,replication all trust
host replication all 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
`;

/** A cluster to copy, made once a machine. Its path names what it was made with. */
function template(): string {
  const version = (programs ?? "").replace(/\D+/g, "") || "0";
  const folder = join(tmpdir(), `portico-postgres-${version}-${userInfo().username}-1`);
  if (existsSync(folder)) return folder;
  const draft = makeFolder("portico-postgres-draft-");
  const locale = ["--encoding=UTF8", "--locale=C.UTF-8", "--username=postgres", "--auth=trust"];
  run("initdb", ["--pgdata", draft, ...locale, "--no-sync", "--wal-segsize=1"]);
  run("postgres", ["--single", "-j", "-D", draft, "postgres"], SETUP);
  writeFileSync(join(draft, "pg_hba.conf"), CLIENTS);
  try {
    renameSync(draft, folder);
  } catch {
    rmSync(draft, { recursive: true }); // Another test was first.
  }
  return folder;
}

/** Of a statement of the test's own, in milliseconds. */
const TIMES = { connectionTimeoutMillis: MAX_WAIT, query_timeout: MAX_WAIT };

const LOOPBACK = { host: "127.0.0.1", before: [] };

/** Settings of every server: small, and quick to start and stop. */
const SETTINGS = {
  fsync: "off",
  shared_buffers: "8MB",
  max_wal_size: "32MB",
  max_wal_senders: "4",
  wal_receiver_status_interval: "1s",
  log_line_prefix: "%p ",
} as const;

/** What distinguishes a server from others. */
export interface PostgresOptions {
  /** Settings of postgresql.conf, such as `{ fsync: "on" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Takes TLS connections with this certificate, and refuses others but by the unix socket. */
  readonly certificate?: Certified;
  /** The folder that holds the cluster, which must be empty and of the user `postgres`, such as a small disk. */
  readonly folder?: string;
  /** The machine that it runs on, and the address at which others reach it; else this one and loopback. */
  readonly machine?: { readonly host: string; readonly before: readonly string[] };
}

/** What a server ends with: a test, for instance. */
type Owner = Pick<Test, "teardown">;

/** Starts a server. It ends with the test. */
export async function startPostgres(t: Owner, options: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = options.folder ?? makeFolder("portico-pg-");
  const data = join(folder, "data");
  // As `cp -a`: with the owner, which cpSync does not keep.
  const { status, stderr } = spawnSync("cp", ["-a", template(), data], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the cluster could not be copied: ${stderr}`);
  const settings: Record<string, string> = { ...SETTINGS, ...options.settings };
  if (options.certificate !== undefined) {
    writePrivate(join(data, "server.crt"), options.certificate.cert);
    writePrivate(join(data, "server.key"), options.certificate.key);
    settings.ssl = "on";
    writeFileSync(join(data, "pg_hba.conf"), CLIENTS.replace("host all", "hostssl all"));
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

/** A running server, and what may happen to it. */
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

  /** The URL of a database, as PORTICO_STORE takes it. `through` is another port, such as a proxy's. */
  url(database = "portico", { through = this.port, query = "" } = {}): string {
    return `postgres://portico:${PASSWORD}@${this.#machine.host}:${through}/${database}${query}`;
  }

  /** What it wrote to its log so far. */
  get log(): string {
    return this.#log;
  }

  /** Makes an empty database that the role `portico` owns, and gives its name. */
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

  /** Runs a statement as the superuser in a transaction that stays open, with the locks that it has. @returns commits it */
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
    const client = new pg.Client({ host, port, user: "postgres", database, ...TIMES });
    // What ends the server ends the connection too.
    client.on("error", () => undefined);
    await client.connect();
    return client;
  }

  /** Starts it, and waits until it takes connections. */
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

  /** Stops it as an operator does: connections are ended, what was committed is kept. */
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

  /** Kills all its processes at once. */
  async kill(): Promise<void> {
    if (!this.runs()) return;
    const ended = once(this.#child!, "exit");
    const processes = this.#signal("SIGKILL");
    await inTime(ended, "the first process of Postgres ends");
    await until(() => !processes.some((pid) => existsSync(`/proc/${pid}`)));
  }

  /** Stops all its processes where they are, as a machine that hangs: connections stay, and nothing is answered. */
  pause(): void {
    this.#signal("SIGSTOP");
  }

  resume(): void {
    this.#signal("SIGCONT");
  }

  /** Changes settings while it runs. */
  async set(settings: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(settings)) await this.query(`ALTER SYSTEM SET ${name} = '${value}'`);
    await this.query("SELECT pg_reload_conf()");
    for (const [name, value] of Object.entries(settings)) {
      await until(async () => (await this.query(`SHOW ${name}`))[0]?.[name] === value);
    }
  }

  /** Starts a standby of this server, and waits until it receives what is committed here. */
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

  /** Makes a standby a primary. */
  async promote(): Promise<void> {
    await this.query("SELECT pg_promote()");
  }

  /** Whether its first process runs. */
  runs(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** Signals every process of the server, and gives them. Each is in a session of its own, so they are found by their parent. */
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
      // After the name of the program, which may have spaces: its state and its parent.
      const [, ppid] = /.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, "utf8")) ?? [];
      if (Number(ppid) === parent) children.push(Number(name));
    } catch {
      // It has ended.
    }
  }
  return children;
}
