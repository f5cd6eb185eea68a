// The same first day, at a real terminal, with authority, gateway and service in three processes.
import { readFileSync } from "node:fs";
import t from "tap";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { replay } from "./transcript.js";

/** Three processes that know each other by the authority's address; `http` and `grpc` may be addresses to take again. */
async function startApart(data: string, { http = "127.0.0.1:0", grpc = "127.0.0.1:0" } = {}) {
  const authority = await start(["authority"], { PORTICO_DATA: data, PORTICO_GRPC: grpc });
  const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: authority.address("gRPC") };
  const service = await start(["service", "helloworld"], joined);
  const gateway = await start(["gateway"], { ...joined, PORTICO_HTTP: http });
  return {
    url: gateway.address("HTTP"),
    grpc: authority.address("gRPC"),
    stop: () => Promise.all([gateway, service, authority].map((process) => process.stop())),
  };
}

t.test("the first day goes as first-day.txt shows, in three processes", async (t) => {
  const data = await installation(t.testdir());
  let running = await startApart(data);
  t.teardown(() => running.stop());
  const { url, grpc } = running;
  const restart = async () => {
    await running.stop();
    running = await startApart(data, { http: new URL(url).host, grpc });
  };
  await replay(t, readFileSync("test/scenarios/first-day.txt", "utf8"), { url, data, events: { restart } });
});
