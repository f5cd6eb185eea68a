// A setting comes from the flag, or else the variable, the configuration file or the default, in
// this order.
import { join } from "node:path";
import t from "tap";
import { loadConfig } from "../../src/config/config.js";

const data = t.testdir({ "portico.json": JSON.stringify({ callTime: "3s", http: "127.0.0.1:3" }) });
const base = { PORTICO_DATA: data };

t.test("a setting that is not set has its default", async (t) => {
  const config = loadConfig({}, { PORTICO_DATA: t.testdir() });
  t.same(config.http, { host: "127.0.0.1", port: 8080 });
  t.same(config.grpc, { host: "127.0.0.1", port: 8081 });
  t.same(config.admin, { host: "127.0.0.1", port: 8082 });
  t.equal(config.maxBody, 4 * 1024 * 1024);
  t.equal(config.callTime, 30_000);
  t.equal(config.lease, 5_000);
  t.equal(config.adminPassword, undefined);
});

t.test("the configuration file takes precedence over the default", async (t) => {
  t.equal(loadConfig({}, base).callTime, 3_000);
});

t.test("the variable takes precedence over the configuration file", async (t) => {
  t.equal(loadConfig({}, { ...base, PORTICO_CALL_TIME: "2s" }).callTime, 2_000);
});

t.test("the flag takes precedence over the variable", async (t) => {
  const config = loadConfig({ http: "127.0.0.1:1" }, { ...base, PORTICO_HTTP: "127.0.0.1:2" });
  t.match(config.http, { port: 1 });
});

t.test("an empty variable sets nothing", async (t) => {
  t.match(loadConfig({}, { ...base, PORTICO_HTTP: "" }).http, { port: 3 });
});

t.test("by default the data folder is in the XDG data home", async (t) => {
  const home = t.testdir();
  t.equal(loadConfig({}, { XDG_DATA_HOME: home }).data, join(home, "portico"));
  t.equal(loadConfig({}, { HOME: home }).data, join(home, ".local", "share", "portico"));
});

t.test("a configuration file may name the data folder, by a path relative to the file", async (t) => {
  const folder = t.testdir({ "named.json": '{"data": "state"}', "absolute.json": '{"data": "/var/lib/portico"}' });
  const config = join(folder, "named.json");
  t.equal(loadConfig({ config }, {}).data, join(folder, "state"));
  t.equal(loadConfig({}, { PORTICO_CONFIG: join(folder, "absolute.json") }).data, "/var/lib/portico");
  t.equal(loadConfig({ config }, { PORTICO_DATA: data }).data, data, "the variable comes before it");
});
