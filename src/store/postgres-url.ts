/**
 * URLs of stores on Postgres:
 * `postgres://role:password@host:port/database?schema=portico&sslmode=verify-full`.
 *
 * For a server on another machine, the URL must say by `sslmode` whether the connection is
 * encrypted and the server is verified. There is no default, because one would send passwords
 * unencrypted, or encrypt without verifying the server. No message contains the password.
 */

import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { StoreError } from "./store.js";

/** The parts of a store's URL. */
export interface PostgresAddress {
  /** The URL without role and password, for messages. */
  readonly name: string;
  /** The servers. One of them is the primary. */
  readonly servers: readonly { readonly host: string; readonly port: number | undefined }[];
  /** Undefined if the environment (PGUSER, PGPASSWORD) or the file `~/.pgpass` provides it. */
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string;
  /** The schema that holds the store's tables. */
  readonly schema: string;
  /** The options for TLS, with the files as they are when they are read; false for no TLS. */
  readonly ssl: ConnectionOptions | false;
}

const FORM = "postgres://role:password@host:port/database";
/** Groups: the role and its password, the servers, the database, the parameters. */
const URL_PARTS = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#@]*)\/([^/?#@]+)(?:\?([^#]*))?$/;
/** A path is the folder of a Unix socket. */
const SERVER = /^(\/.*?|\[[0-9a-f:.]+\]|[^/:[\]]+)(?::(\d+))?$/i;
const PARAMETERS = ["host", "schema", "sslmode", "sslrootcert", "sslcert", "sslkey"];
/** An identifier that is the same with quotes and without. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,40}$/;
const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[?::1\]?|\/.*)$/;

export function isPostgresUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(url);
}

/**
 * Parses the URL of a store.
 * @param defaultSchema the schema if the URL names none
 * @throws {StoreError} with the reason, without the password
 */
export function readPostgresUrl(url: string, defaultSchema: string): PostgresAddress {
  const [, credentials, authority, path, query = ""] = URL_PARTS.exec(url) ?? [];
  if (authority === undefined || path === undefined) {
    throw new StoreError(
      `the URL of the store is not of the form ${FORM}; write / ? and # in the password as %2F %3F and %23`,
    );
  }
  const database = decode(path);
  const parameters = readParameters(query);
  const servers = (parameters.get("host") ?? authority).split(",").map(readServer);
  const schema = parameters.get("schema") ?? defaultSchema;
  const suffix = schema === defaultSchema ? "" : `?schema=${schema}`;
  const name = `postgres://${authority || parameters.get("host") || "localhost"}/${database}${suffix}`;
  if (!SCHEMA.test(schema)) {
    throw new StoreError(`store ${name}: schema must be lower-case letters, digits and _, at most 41 of them`);
  }
  const [user, ...rest] = credentials?.split(":") ?? [];
  return {
    name,
    servers,
    user: user && decode(user),
    password: rest.length === 0 ? undefined : decode(rest.join(":")),
    database,
    schema,
    ssl: readSsl(name, servers, parameters),
  };
}

/** A server as the URL names it. */
export function formatServer({ host, port }: PostgresAddress["servers"][number]): string {
  return port === undefined ? host : `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function readParameters(query: string): Map<string, string> {
  const parameters = new Map(new URLSearchParams(query));
  for (const parameter of parameters.keys()) {
    if (PARAMETERS.includes(parameter)) continue;
    throw new StoreError(`the URL of the store has a parameter ${parameter}; it may have ${PARAMETERS.join(", ")}`);
  }
  return parameters;
}

function readServer(part: string): PostgresAddress["servers"][number] {
  const text = decode(part);
  if (text === "") return { host: "localhost", port: undefined };
  const [, host, port] = SERVER.exec(text) ?? [];
  const isPort = port === undefined || (Number(port) > 0 && Number(port) < 65_536);
  if (host === undefined || !isPort)
    throw new StoreError(`the URL of the store names a server ${text}: write it as host:port`);
  return { host: host.replace(/^\[(.*)\]$/, "$1"), port: port === undefined ? undefined : Number(port) };
}

function readSsl(
  name: string,
  servers: PostgresAddress["servers"],
  parameters: ReadonlyMap<string, string>,
): ConnectionOptions | false {
  const mode = parameters.get("sslmode");
  if (mode === "disable") return false;
  if (mode === undefined && servers.every(({ host }) => LOOPBACK.test(host))) return false;
  if (mode !== "verify-full") {
    const what =
      mode === undefined ? "is on another machine: add" : `has sslmode=${mode}, which is not supported: write`;
    throw new StoreError(
      `store ${name} ${what} sslmode=verify-full to its URL, which encrypts and checks the server's ` +
        "certificate and name (sslrootcert=FILE names its authority), or sslmode=disable on a network that you trust",
    );
  }
  const [ca, cert, key] = ["sslrootcert", "sslcert", "sslkey"].map((parameter) => {
    const path = parameters.get(parameter);
    return path === undefined ? () => undefined : followFile(name, parameter, path);
  }) as [Pem, Pem, Pem];
  return {
    get ca() {
      return ca();
    },
    get cert() {
      return cert();
    },
    get key() {
      return key();
    },
  };
}

type Pem = () => Buffer | undefined;

/** Reads a file again for each connection. What was read before replaces a file that is away. */
function followFile(name: string, parameter: string, path: string): () => Buffer {
  let content = readFile(name, parameter, path);
  return () => {
    try {
      content = readFileSync(path);
    } catch {} // It is being replaced, or lost.
    return content;
  };
}

function readFile(name: string, parameter: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new StoreError(`store ${name}: ${parameter} cannot be read (${(error as Error).message})`, { cause: error });
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StoreError(`the URL of the store has a % that is no escape; it is of the form ${FORM}`);
  }
}
