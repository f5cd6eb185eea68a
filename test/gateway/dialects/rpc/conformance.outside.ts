// connectrpc's conformance suite (https://github.com/connectrpc/conformance): its reference client against Portico's port, in
// front of its reference server, which Portico calls by gRPC. It needs Go, once, to be installed. There are no known failures.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { goProgram } from "../../../outside/tools.js";
import { killGroup } from "../../../scripts/kill-group.js";
import { FULL } from "../../../support/full.js";

const MODULE = "connectrpc.com/conformance";
const VERSION = "v1.0.5";
const TIME = FULL ? 1_800_000 : 240_000;

/** What is run where time is short: each protocol, each shape, each kind of error, one compression; little of it over TLS. */
const SAMPLE = [
  "Basic/**/Codec:CODEC_PROTO/Compression:COMPRESSION_GZIP/TLS:false/**",
  "TLS Client Certs/**/Codec:CODEC_PROTO/Compression:COMPRESSION_IDENTITY/**",
  ...[
    "Connect with GET/**",
    "Deadline Propagation/**/Codec:CODEC_PROTO/Compression:COMPRESSION_IDENTITY",
    "Duplicate Metadata/**/Codec:CODEC_PROTO/Compression:COMPRESSION_IDENTITY",
    "Errors/**/Codec:CODEC_JSON/Compression:COMPRESSION_IDENTITY",
    "Server Message Size/**/Compression:COMPRESSION_IDENTITY",
  ].map((cases) => `${cases}/TLS:false/**`),
  "**/TLS:false/**/server-stream/no-request",
  ...["content-type", "verb", "compression", "compressed-message"].map((what) => `**/TLS:false/**/unexpected-${what}`),
];

interface Case {
  readonly version: 1 | 2;
  readonly protocols: readonly string[];
}

const CASES: readonly Case[] = [
  { version: 1, protocols: ["PROTOCOL_CONNECT", "PROTOCOL_GRPC_WEB"] },
  { version: 2, protocols: ["PROTOCOL_CONNECT", "PROTOCOL_GRPC", "PROTOCOL_GRPC_WEB"] },
];

function configOf({ version, protocols }: Case): string {
  return JSON.stringify({
    features: {
      versions: [`HTTP_VERSION_${version}`],
      protocols,
      codecs: ["CODEC_PROTO", "CODEC_JSON"],
      compressions: ["COMPRESSION_IDENTITY", "COMPRESSION_GZIP", "COMPRESSION_BR"],
      supportsTls: true,
      supportsTlsClientCerts: true,
      supportsH2c: version === 2,
      supportsHalfDuplexBidiOverHttp1: version === 1,
      supportsConnectGet: true,
    },
  });
}

/**
 * Cases that compare a deadline with the clock, half a second apart at most. Beside other work, and with eight calls at a time,
 * one may take longer: so where nothing else has failed, they are run once more by themselves.
 */
const BY_CLOCK = /^Deadline Propagation\//;

/** What the runner says of a server that took longer to start than it waits. A busy machine may be the reason. */
const NOT_STARTED = /timed out waiting for result from server/;
const MAX_STARTS = 3;

interface Outcome {
  /** How many cases passed. */
  readonly passed: number;
  /** Names of those that failed. */
  readonly failures: readonly string[];
  /** Why the suite failed; empty where it passed. */
  readonly why: string;
}

async function runSuite(runner: string, parameters: readonly string[]): Promise<Outcome> {
  const child = spawn(runner, parameters, { detached: true });
  const endAll = (): void => killGroup(child.pid as number);
  const timer = setTimeout(endAll, TIME);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  const closed = once(child, "close");
  // A server that outlives the runner would keep its output open.
  child.once("exit", endAll);
  const [status, signal] = await closed;
  clearTimeout(timer);
  const ended = signal === null ? output.slice(-4_000) : `the suite did not end within ${TIME} ms`;
  return {
    passed: Number(/(\d+) passed/.exec(output)?.[1] ?? 0),
    failures: [...output.matchAll(/^FAILED: (.*):$/gm)].map(([, name]) => name as string),
    why: status === 0 ? "" : ended,
  };
}

/** Builds the descriptors of the conformance service from its module. @returns their file */
function buildDescriptors(folder: string): string {
  const { stdout } = spawnSync("go", ["mod", "download", "-json", `${MODULE}@${VERSION}`], { encoding: "utf8" });
  const file = join(folder, "conformance.binpb");
  const { status, stderr } = spawnSync(
    "node_modules/.bin/buf",
    ["build", join(JSON.parse(stdout).Dir, "proto"), "-o", file],
    {
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(`buf build: ${stderr}`);
  return file;
}

t.setTimeout(4 * TIME + 60_000);

const runner = goProgram(`${MODULE}/cmd/connectconformance`, VERSION);
const reference = goProgram(`${MODULE}/cmd/referenceserver`, VERSION);

if (runner === undefined || reference === undefined) {
  t.test("the suite from outside", { skip: "there is no Go here" }, async () => {});
} else {
  const folder = t.testdir();
  const descriptors = buildDescriptors(folder);
  const server = ["node", "--import", "tsx", "test/gateway/dialects/rpc/conformance-server.ts", reference, descriptors];
  for (const row of CASES) {
    const title = `HTTP/${row.version}, in plain text, over TLS and over mutual TLS: ${row.protocols.join(", ")}`;
    t.test(title, async (t) => {
      const config = join(folder, `${row.version}.json`);
      writeFileSync(config, configOf(row));
      const parameters = ["--conf", config, "--mode", "server", "--max-servers", "1"];
      const run = (patterns: readonly string[]): Promise<Outcome> => {
        const only = patterns.flatMap((pattern) => ["--run", pattern]);
        return runSuite(runner, [...parameters, ...only, "--", ...server, t.testdir()]);
      };
      let first = await run(FULL ? [] : SAMPLE);
      for (let starts = 1; starts < MAX_STARTS && NOT_STARTED.test(first.why); starts++)
        first = await run(FULL ? [] : SAMPLE);
      t.ok(first.passed > 100, `${first.passed} cases passed`);
      const isLate = first.failures.length > 0 && first.failures.every((name) => BY_CLOCK.test(name));
      const { failures, why } = isLate ? await run(first.failures) : first;
      t.same(failures, [], why);
      t.equal(why, "");
    });
  }
}
