// connectrpc's conformance runner, with the gRPC protocol, for Portico's server and client. Its
// installation needs Go.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { buildDescriptors, conformanceProgram, MAX_TIME, runConformance } from "../../outside/connectconformance.js";

/** The parts of the suite that apply to Portico. Portico's client sends messages uncompressed. */
const configOf = (mode: "server" | "client") => `features:
  versions: [HTTP_VERSION_2]
  protocols: [PROTOCOL_GRPC]
  codecs: [CODEC_PROTO]
  compressions: [${mode === "server" ? "COMPRESSION_IDENTITY, COMPRESSION_GZIP" : "COMPRESSION_IDENTITY"}]
  supportsTls: true
  supportsTlsClientCerts: true
`;

const PROGRAMS = ["server", "client"] as const;

t.setTimeout(4 * MAX_TIME + 60_000);

const runner = conformanceProgram("connectconformance");

if (runner === undefined) t.test("the suite from outside", { skip: "there is no Go here" }, async () => {});
else {
  const folder = t.testdir();
  process.env.CONFORMANCE_DESCRIPTORS = buildDescriptors(folder);
  for (const mode of PROGRAMS) {
    t.test(mode, async (t) => {
      const config = join(folder, `${mode}.yaml`);
      writeFileSync(config, configOf(mode));
      const parameters = ["--mode", mode, "--conf", config, "--max-servers", "1"];
      const program = [process.execPath, "--import=tsx", `test/rpc/http2/conformance/${mode}.ts`];
      const { passed, failures, why } = await runConformance({ runner, parameters, cases: [], program });
      t.ok(passed > 100, `${passed} cases passed`);
      t.same(failures, [], why);
      t.equal(why, "");
    });
  }
}
