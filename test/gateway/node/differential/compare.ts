/**
 * Runs cases on the gateway's port and on node:http, several at a time, and lists the cases in
 * which they differ.
 */
import { loadConfig } from "../../../../src/config/config.js";
import { printable } from "./corpus.js";
import { comparable, isComparable, withoutIgnoredUpgrades, withoutQuotedDeletes } from "./differences.js";
import { oracle } from "./oracle.js";
import { type Outcome, outcomeOf, type RecordingServer } from "./recording.js";
import { gateway } from "./test-gateway.js";

export interface Case {
  readonly title: string;
  /** Each chunk is sent when the server has processed the one before. */
  readonly chunks: readonly Buffer[];
}

/** Small limits, so that mutated cases reach them. */
const LIMITS = { ...loadConfig({}, {}), maxBody: 65_536 };
/** Cases at a time, each with its own servers: a server records one connection at a time. */
const AT_A_TIME = 8;
/** Maximum length of a failure that is printed. */
const MAX_PRINTED = 4_000;

export const openTestGateway = (): Promise<RecordingServer> => gateway(LIMITS);
export const openOracle = (): Promise<RecordingServer> => oracle(LIMITS);

/** Runs all cases, each on servers that no other case uses at that time. */
export async function forEachCase(
  cases: Iterable<Case>,
  openServers: readonly (() => Promise<RecordingServer>)[],
  run: (each: Case, servers: readonly RecordingServer[]) => Promise<void>,
): Promise<void> {
  const waiting = cases[Symbol.iterator]();
  const work = async (): Promise<void> => {
    const servers = await Promise.all(openServers.map((open) => open()));
    try {
      for (let next = waiting.next(); !next.done; next = waiting.next()) await run(next.value, servers);
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
}

/** @returns the cases in which the port differs, in a readable form */
export async function differencesOf(cases: Iterable<Case>): Promise<string[]> {
  const differences: string[] = [];
  await forEachCase(cases, [openTestGateway, openOracle], async ({ title, chunks }, [ours, nodes]) => {
    if (!isComparable(Buffer.concat(chunks))) return;
    const port = await outcomeOf(ours!, chunks);
    const [found, wanted] = comparable(port, await outcomeOf(nodes!, forNode(chunks)));
    if (JSON.stringify(found) === JSON.stringify(wanted)) return;
    const lines = [title, chunks.map(printable).join(" | "), `port: ${JSON.stringify(found)}`];
    differences.push(
      [...lines, `node: ${JSON.stringify(wanted)}`].map((line) => line.slice(0, MAX_PRINTED)).join("\n"),
    );
  });
  return differences;
}

function forNode(chunks: readonly Buffer[]): Buffer[] {
  const bytes = withoutQuotedDeletes(withoutIgnoredUpgrades(Buffer.concat(chunks)));
  let at = 0;
  return chunks.map(({ length }) => {
    at += length;
    return bytes.subarray(at - length, at);
  });
}

/**
 * An outcome in one line: each request with its headers, the length of its body and its status, and
 * whether the connection was closed.
 */
export function summaryOf({ requests, refused, statuses, closed }: Outcome): string {
  const parts = requests.map(({ method, target, headers, body, upgrade, error }) => {
    const length = body === undefined ? "no body" : `${body.length} bytes`;
    const kind = upgrade ? "upgrade" : length;
    const status = error === undefined ? "" : `, ${error}`;
    return `${method} ${target.slice(0, 40)} (${headers.length / 2} headers, ${kind}${status})`;
  });
  if (refused !== undefined) parts.push(`refused ${refused}`);
  parts.push(`responses ${statuses.join(" ") || "none"}`, closed ? "closed" : "kept");
  return parts.join("; ");
}
