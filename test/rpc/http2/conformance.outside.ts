// connectrpc's conformance runner, gRPC protocol, against our server and our client. It needs Go, once, to be installed.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { goProgram, run } from "../../outside/tools.js";

t.setTimeout(300_000);

const VERSION = "v1.0.6";
const runner = goProgram("connectrpc.com/conformance/cmd/connectconformance", VERSION);

/** The parts of the suite that concern us; our client sends messages uncompressed. */
const configOf = (mode: "server" | "client") => `features:
  versions: [HTTP_VERSION_2]
  protocols: [PROTOCOL_GRPC]
  codecs: [CODEC_PROTO]
  compressions: [${mode === "server" ? "COMPRESSION_IDENTITY, COMPRESSION_GZIP" : "COMPRESSION_IDENTITY"}]
  supportsTls: true
  supportsTlsClientCerts: true
`;

const PROGRAMS = ["server", "client"] as const;

if (runner === undefined) t.test("the suite from outside", { skip: "there is no Go here" }, async () => {});
else {
  const folder = t.testdir();
  const descriptors = join(folder, "conformance.binpb");
  const module = spawnSync("go", ["mod", "download", "-json", `connectrpc.com/conformance@${VERSION}`]);
  const { Dir } = JSON.parse(`${module.stdout}`);
  const built = spawnSync("npx", ["buf", "build", join(Dir, "proto"), "-o", descriptors], { encoding: "utf8" });
  t.equal(built.status, 0, built.stderr);
  process.env.CONFORMANCE_DESCRIPTORS = descriptors;
  for (const mode of PROGRAMS) {
    t.test(mode, { timeout: 300_000 }, async (t) => {
      writeFileSync(join(folder, "config.yaml"), configOf(mode));
      const program = [process.execPath, "--import=tsx", `test/rpc/http2/conformance/${mode}.ts`];
      const parameters = ["--mode", mode, "--conf", join(folder, "config.yaml"), "--max-servers", "1"];
      const { status, output } = await run(runner, [...parameters, "--", ...program]);
      t.equal(status, 0, output.trim().split("\n").at(-1) ?? "the runner says nothing");
      t.comment(output);
    });
  }
}
