/**
 * A service that would use another store than its other instances does not start, and reports the
 * reason.
 */
import { join } from "node:path";
import t from "tap";
import { installation } from "../../support/installation.js";
import { call, type Portico, start } from "../../support/process.js";

const data = await installation(t.testdir());
const authority = await start(["authority"], { PORTICO_DATA: data });
const gateway = await start(["gateway"], { PORTICO_DATA: data, PORTICO_AUTHORITY: authority.address("gRPC") });
const running: Portico[] = [authority, gateway];
t.teardown(() => Promise.all(running.map((portico) => portico.stop())));

const cacheOn = async (store: string): Promise<Portico> => {
  const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: authority.address("gRPC") };
  const cache = await start(["service", "cache"], { ...joined, PORTICO_SERVICE_STORE: `sqlite:${join(data, store)}` });
  running.push(cache);
  return cache;
};
const refused = (store: string, running: string) => ({
  message: new RegExp(
    `exit 2\\):\\n.*this instance of cache keeps its data in [^\\n]+/${store}, and one that runs \\(\\S+\\) in [^\\n]+/${running}: name one store for both in PORTICO_SERVICE_STORE`,
    "s",
  ),
});

t.test("instances of a service in processes of their own", async (t) => {
  const first = await cacheOn("one.sqlite");
  const second = await cacheOn("one.sqlite");
  await t.rejects(cacheOn("two.sqlite"), refused("two\\.sqlite", "one\\.sqlite"));
  const response = await call(`${gateway.address("HTTP")}/cache/set`, { key: "greeting", value: "Hello" });
  t.equal(response.status, 200, "those that run are not disturbed");
  await first.stop();
  await t.rejects(cacheOn("two.sqlite"), refused("two\\.sqlite", "one\\.sqlite"));
  await second.stop("SIGKILL");
  await cacheOn("two.sqlite");
  await t.rejects(cacheOn("one.sqlite"), refused("one\\.sqlite", "two\\.sqlite"));
});
