// etcd behind Portico: its REST gateway and its own command line find no difference.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { goModule } from "../outside/tools.js";
import { FULL } from "../support/full.js";
import { freePort } from "../support/ports.js";
import { type Case, compare, porticoFor, ROUTING, type Side, serve, WORDS } from "./compare.js";

/** etcd needs minutes to build. */
t.setTimeout(900_000);

const etcd = FULL ? goModule("etcd", "test/products/etcd") : undefined;

const text = (value: string) => Buffer.from(value).toString("base64");
const [a, b, c, lock] = [text("a"), text("b"), text("c"), text("lock")];
const post = (path: string, body: unknown = {}, more: Partial<Case> = {}): Case => ({
  http: `POST /v3/${path}`,
  body,
  ...more,
});

const REST: readonly Case[] = [
  post("kv/range", { key: a }),
  post("kv/put", { key: a, value: text("1") }),
  post("kv/put", { key: a, value: text("2"), prev_kv: true }),
  post("kv/put", { key: a, value: text("3"), prevKv: true }),
  post("kv/put", { key: b, value: text("") }),
  post("kv/put", { key: c, value: text("x"), no_such_field: 1 }),
  post("kv/put", { key: "" }),
  post("kv/put", { key: "%" }, { differs: WORDS }),
  post("kv/put", "{", { differs: WORDS }),
  post("kv/put", ""),
  post("kv/range", { key: a, range_end: text("d"), sort_order: "DESCEND", sort_target: "KEY" }),
  post("kv/range", { key: a, range_end: text("d"), limit: "1", keys_only: true }),
  post("kv/range", { key: a, range_end: text("d"), limit: 2, count_only: true }),
  post("kv/range", { key: a, revision: "9999" }),
  post("kv/range", { key: a, sort_order: "SIDEWAYS" }),
  post("kv/range?key=YQ=="),
  post("kv/range", { key: a }, { headers: { "content-type": "application/x-www-form-urlencoded" } }),
  post("kv/range", { key: a }, { headers: { "content-type": "text/plain" } }),
  { http: "GET /v3/kv/range", differs: ROUTING },
  { http: "POST /v3/kv/absent", body: {}, differs: ROUTING },
  post("kv/txn", {
    compare: [{ key: a, target: "VALUE", result: "EQUAL", value: text("3") }],
    success: [{ request_put: { key: a, value: text("4") } }, { request_range: { key: a } }],
    failure: [{ request_delete_range: { key: a } }],
  }),
  post("kv/txn", {
    compare: [{ key: a, target: "VERSION", result: "GREATER", version: "100" }],
    success: [{ requestPut: { key: a, value: text("5") } }],
    failure: [{ requestDeleteRange: { key: b, prevKv: true } }],
  }),
  post("kv/txn", { success: [{ request_put: { key: a } }, { request_put: { key: a } }] }),
  post("kv/deleterange", { key: c, prev_kv: true }),
  post("kv/deleterange", { key: c }),
  post("kv/compaction", { revision: "3" }),
  post("kv/range", { key: a, revision: "2" }),
  post("lease/grant", { TTL: "600", ID: "77" }),
  post("lease/grant", { TTL: 600, ID: 77 }),
  post("lease/grant", { TTL: "a" }, { differs: WORDS }),
  post("kv/put", { key: b, value: text("leased"), lease: "77" }),
  post("lease/timetolive", { ID: "77", keys: true }),
  post("kv/lease/leases"),
  post("lease/leases"),
  post("lease/keepalive", { ID: "77" }),
  post("lease/keepalive", '{"ID":"77"}\n{"ID":"77"}\n'),
  post("lease/keepalive", { ID: "78" }),
  post("lease/revoke", { ID: "77" }),
  post("lease/revoke", { ID: "77" }),
  post("kv/range", { key: b }),
  post("watch", { create_request: { key: a, start_revision: "4" } }, { lines: 2 }),
  post("watch", { create_request: { key: a, start_revision: "1" } }, { lines: 2 }),
  post("lock/lock", { name: lock }, { save: { lock: "key" } }),
  post("lock/unlock", { key: "{lock}" }),
  post("election/leader", { name: lock }),
  post("cluster/member/list"),
  post("cluster/member/remove", { ID: "5" }),
  post("maintenance/alarm", { action: "ACTIVATE", alarm: "NOSPACE" }),
  post("kv/put", { key: a, value: text("full") }),
  post("maintenance/alarm", { action: "DEACTIVATE", alarm: "NOSPACE" }),
  post("maintenance/defragment"),
  post("maintenance/hashkv", { revision: 0 }),
  post("auth/status"),
  post("auth/role/add", { name: "reader" }),
  post("auth/role/grant", { name: "reader", perm: { permType: "READ", key: a, range_end: text("z") } }),
  post("auth/role/get", { role: "reader" }),
  post("auth/user/add", { name: "ada", password: "secret" }),
  post("auth/user/add", { name: "ada", password: "secret" }),
  post("auth/user/grant", { user: "ada", role: "reader" }),
  post("auth/user/list"),
  post("auth/user/get", { name: "absent" }),
  post("auth/enable"),
  post("auth/authenticate", { name: "ada", password: "secret" }),
];

const COMMANDS: readonly Case[] = [
  ["put", "k1", "one"],
  ["put", "k2", "two"],
  ["get", "k1"],
  ["get", "--prefix", "k", "-w", "json"],
  ["get", "--prefix", "k", "--keys-only"],
  ["get", "absent"],
  ["get", "k1", "--rev=9999"],
  ["del", "k2", "--prev-kv"],
  ["lease", "grant", "abc"],
  ["lease", "revoke", "5"],
  ["lease", "list"],
  ["put", "k3", "three", "--lease=5"],
  ["watch", "k1", "--rev=1", "--prefix", "--progress-notify=false", "--", "absent-program"],
  ["member", "list", "-w", "json"],
  ["user", "get", "absent"],
  ["role", "add", "writer"],
  ["role", "list"],
  ["compact", "9999"],
  ["compact", "2"],
  ["endpoint", "health", "-w", "fields"],
].map((command) => ({ command }));

/** Replaces IDs, ports and times, which differ between processes, and drops the log of etcdctl. */
const normalize = (output: string): string =>
  output
    .replaceAll(/^\{"level".*\n/gm, "")
    .replaceAll(/"(cluster_?id|member_?id|leader|ID|raft_?term|hash)":"?\d+"?/gi, '"$1":"<number>"')
    .replaceAll(/127\.0\.0\.1:\d+/g, "<address>")
    .replaceAll(/"key":"bG9jay8[^"]*"/g, '"key":"<key with a lease>"')
    .replaceAll(/"Took" : \S+/g, "<time>");

t.test("etcd", { skip: skipped() }, async (t) => {
  const folder = t.testdir();
  const [own, behind] = [await serveEtcd(t, join(folder, "own")), await serveEtcd(t, join(folder, "behind"))];
  const descriptors = join(folder, "etcd.binpb");
  writeFileSync(descriptors, spawnSync(etcd!, ["descriptors"]).stdout);
  const service = { name: "etcd", target: behind, descriptors, names: "proto", omitZeros: true };
  const { url } = await porticoFor(t, folder, {
    ...service,
    unknown: "ignore",
    rest: "grpc-gateway",
    showUnknown: true,
  });
  const side = (url: string): Side => ({
    url,
    client: [etcd!, "etcdctl", `--endpoints=${new URL(url).host}`, "--command-timeout=10s"],
  });
  const sides = { own: side(`http://${own}`), portico: side(url) };
  await t.test("its command line", (t) => compare(t, COMMANDS, sides, normalize));
  await t.test("its REST gateway", (t) => compare(t, REST, sides, normalize));
});

/** @returns its address */
async function serveEtcd(t: Test, folder: string): Promise<string> {
  const [client, peer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const urls = ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer];
  const cluster = ["--initial-advertise-peer-urls", peer, "--initial-cluster", `default=${peer}`];
  const options = ["--data-dir", folder, "--unsafe-no-fsync", "--log-level", "error"];
  await serve(t, etcd!, ["etcd", ...urls, ...cluster, ...options], `${client}/health`);
  return new URL(client).host;
}

function skipped(): string | false {
  if (!FULL) return "TEST_FULL is not set";
  return etcd === undefined && "there is no Go here";
}
