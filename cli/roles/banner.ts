/**
 * What a server prints when it is ready: its addresses, and what to do next. At most 80 columns,
 * except for long values.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import {
  type Address,
  formatAddress,
  formatGrpcTarget,
  formatHttpAddress,
  type HttpAddress,
} from "../../src/address/address.js";
import type { Config } from "../../src/config/config.js";
import { aligned } from "../terminal/output.js";
import { quoted } from "../terminal/text.js";
import type { Running } from "./start.js";

/** A row of the table: a word and its value. */
type Row = readonly [word: string, value: string];

export interface BannerOptions {
  /** The title after `Portico 1.2.3`. */
  readonly title: string;
  readonly running: Running;
  readonly config: Config;
  /** Whether the store is in this process. Otherwise the authority is another process. */
  readonly hasStore: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** The banner as text. It ends with `Ready`, or with the reason why the process is not ready. */
export function banner({ title, running, config, hasStore, env }: BannerOptions): string {
  const table = aligned(rowsOf(running, config, hasStore, env), "   ").map((row) => `  ${row}`);
  const commands = running.http && hasStore ? commandsToTry(running.http, config) : [];
  const tries = commands.length > 0 ? ["", "  Try", "", ...commands.map((command) => `      ${command}`)] : [];
  const lines = [...table, ...firstPassword(running), ...firstPage(running, config), ...tries];
  return [
    "",
    `  Portico ${packageJson.version} · ${title}`,
    "",
    ...lines,
    "",
    readiness(running.notReady()),
    "",
    "",
  ].join("\n");
}

/** A text that says whether the process can serve. Also printed alone, when that changes. */
export function readiness(notReady: string | undefined): string {
  if (notReady === undefined) return "  Ready. Ctrl-C stops it.";
  return `  Not ready: ${notReady}.\n  Calls are refused with 503 until it is. Ctrl-C stops it.`;
}

/** Nothing if `portico recover admin` has set another password since, which deletes the file. */
function firstPassword({ firstStart }: Running): string[] {
  if (firstStart === undefined || !existsSync(firstStart.passwordFile)) return [];
  return [
    "",
    "  Log in as admin with this password. It is shown only now, and kept in",
    `  ${firstStart.passwordFile}`,
    "",
    `      ${firstStart.password}`,
  ];
}

/** Where a new installation begins. */
function firstPage({ firstStart, http }: Running, config: Config): string[] {
  const url = http && httpUrl(config, http);
  return firstStart && url ? ["", `  Begin at ${url} in a browser: four steps.`] : [];
}

function rowsOf(
  { http, grpc, admin, workers = [], firstStart }: Running,
  config: Config,
  hasStore: boolean,
  env: NodeJS.ProcessEnv,
): Row[] {
  return [
    ...(http ? pagesOf(http, config) : []),
    ...(grpc ? [["gRPC", formatGrpcTarget(grpc)] as const] : []),
    ...(admin ? [["Metrics", metricsOf(admin)] as const] : []),
    ...workers.map(({ pid, admin }, index) => [`Worker ${index + 1}`, `${metricsOf(admin)}, process ${pid}`] as const),
    ...(hasStore
      ? storeOf(config, env, firstStart)
      : [["Authority", config.authority.map(formatGrpcTarget).join(", ")] as const]),
  ];
}

/**
 * The row about the first password is shown as long as the password's file exists: the first start
 * may have ended before it showed the password. The file is deleted when another password is set.
 */
function storeOf({ data }: Config, env: NodeJS.ProcessEnv, firstStart: Running["firstStart"]): Row[] {
  const folder = ["Data", shorten(data, env)] as const;
  const password = join(data, "admin-password");
  if (firstStart !== undefined || !existsSync(password)) return [folder];
  return [folder, ["Password", `of admin: ${shorten(password, env)}`]];
}

function pagesOf(http: HttpAddress, config: Config): Row[] {
  const url = httpUrl(config, http);
  const port = ["HTTP", "path" in http || url === undefined ? formatHttpAddress(http) : url] as const;
  return url === undefined ? [port] : [port, ["Explore", `${url}/explore`], ["Console", `${url}/console`]];
}

function metricsOf(admin: Address): string {
  return `http://${formatAddress(admin)}/metrics`;
}

function shorten(path: string, env: NodeJS.ProcessEnv): string {
  const home = env.HOME || homedir();
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** The URL of the HTTP port for callers; of a Unix socket the public one, if a setting has it. */
export function httpUrl({ httpTlsCert, publicUrl }: Config, http: HttpAddress): string | undefined {
  if ("path" in http) return publicUrl;
  return `${httpTlsCert === undefined ? "http" : "https"}://${formatAddress(http)}`;
}

function commandsToTry(http: HttpAddress, config: Config): string[] {
  const { ownServices } = config;
  const url = httpUrl(config, http);
  const program = programName(process.argv[1] ?? "portico");
  const hasHelloworld = ownServices === "*" || ownServices.includes("helloworld");
  const base = "path" in http ? `--unix-socket ${quoted(http.path)} 'http://localhost` : `'${url}`;
  const first = hasHelloworld ? [`curl ${base}/helloworld/call?name=Ada'`] : [];
  if (url === undefined) return first;
  const option = url === "http://127.0.0.1:8080" ? "" : ` --url ${url}`;
  return [...first, `${program} login${option}`, `${program} auth list rules`];
}

/**
 * The command that starts this program: its name if the program was found by name, otherwise its
 * absolute path, which works in any folder.
 */
function programName(path: string): string {
  if (basename(path) === "portico") return "portico";
  return quoted(resolve(path));
}
