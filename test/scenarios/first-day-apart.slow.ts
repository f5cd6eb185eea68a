// The transcript first-day.txt at a real terminal, with authority, gateway and service in three
// processes.
import { readFileSync } from "node:fs";
import t from "tap";
import { installation } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { start } from "../support/process.js";
import { replay } from "./transcript.js";

/** Starts three processes that find each other by the authority's gRPC address. */
async function startApart(data: string, http: string, grpc: string) {
  const authority = await start(["authority"], { PORTICO_DATA: data, PORTICO_GRPC: grpc });
  const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: authority.address("gRPC") };
  const service = await start(["service", "helloworld"], joined);
  const gateway = await start(["gateway"], { ...joined, PORTICO_HTTP: http });
  return {
    url: gateway.address("HTTP"),
    stop: () => Promise.all([gateway, service, authority].map((process) => process.stop())),
  };
}

t.test("the first day is as first-day.txt shows, in three processes", async (t) => {
  const data = await installation(t.testdir());
  const [http, grpc] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  let running = await startApart(data, http, grpc);
  t.teardown(() => running.stop());
  const { url } = running;
  const restart = async () => {
    await running.stop();
    running = await startApart(data, http, grpc);
  };
  await replay(t, readFileSync("test/scenarios/first-day.txt", "utf8"), { url, data, events: { restart } });
});
