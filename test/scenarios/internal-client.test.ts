// An internal client that is in no way ours, beside the command line, at a real terminal.
import { readFileSync } from "node:fs";
import t from "tap";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { GRPCURL } from "./grpcurl-program.js";
import { replay } from "./transcript.js";

t.test("a service that calls another one", async (t) => {
  const data = await installation(t.testdir());
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  const transcript = readFileSync("test/scenarios/internal-client.txt", "utf8");
  await replay(t, transcript, {
    url: portico.address("HTTP"),
    data,
    values: { grpc: portico.address("gRPC") },
    programs: { grpcurl: GRPCURL },
  });
});
