// connectrpc's conformance suite (https://github.com/connectrpc/conformance). Its reference client
// calls Portico's port, and Portico calls its reference server by gRPC. To install the suite, Go is
// needed once. There are no known failures.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { buildDescriptors, conformanceProgram, MAX_TIME, runConformance } from "../../../outside/connectconformance.js";
import { FULL } from "../../../support/full.js";

/**
 * The sample for short runs: each protocol, each shape, each kind of error and one compression, and
 * few cases over TLS.
 */
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

t.setTimeout(4 * MAX_TIME + 60_000);

const runner = conformanceProgram("connectconformance");
const reference = conformanceProgram("referenceserver");

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
      const suite = { runner, parameters, cases: FULL ? [] : SAMPLE, program: [...server, t.testdir()] };
      const { passed, failures, why } = await runConformance(suite);
      t.ok(passed > 100, `${passed} cases passed`);
      t.same(failures, [], why);
      t.equal(why, "");
    });
  }
}
