/**
 * Refused calls of a remote gateway, as the authority lists them: grouped, without arguments, once,
 * also after a restart of either process. Mirrors gateway/built-in/refusals.ts.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { ListRefusalsResponse, Refusal } from "../../../src/api/types.js";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { administrator, answered, call, start } from "../../support/process.js";
import { until } from "../../support/until.js";

const ARGUMENT = "a secret argument";
const data = await installation(t.testdir());
const grpc = `127.0.0.1:${await freePort()}`;
const settings = { PORTICO_DATA: data, PORTICO_GRPC: grpc };
const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: grpc };
let authority = await start(["authority"], settings);
const service = await start(["service", "helloworld"], joined);
let gateway = await start(["gateway"], joined);
t.teardown(() => Promise.all([authority, service, gateway].map((portico) => portico.stop("SIGKILL"))));
const url = (path: string) => `${gateway.address("HTTP")}${path}`;
const login = { account: "admin", password: readFileSync(join(data, "admin-password"), "utf8").trim() };
await answered(() => call(url("/auth/login"), login), 200);
const admin = await administrator(gateway.address("HTTP"), data);
await answered(() => call(url("/v1/auth/Rules/Delete"), { id: "default" }, admin), 200);

const refuse = () => call(url("/helloworld/Call"), { name: ARGUMENT });

async function list(): Promise<ListRefusalsResponse> {
  let body: unknown;
  await answered(async () => {
    const response = await call(url("/v1/auth/Refusals/List"), {}, admin);
    body = response.body;
    return response;
  }, 200);
  return body as ListRefusalsResponse;
}

/** Waits until the authority lists this number of refusals of the endpoint. */
async function listed(count: number): Promise<ListRefusalsResponse> {
  let last: ListRefusalsResponse | undefined;
  const isSo = async () => {
    last = await list();
    return last.groups.some((group) => group.count === `${count}`);
  };
  await until(isSo, { what: () => `${count} refusals are listed; the last list was ${JSON.stringify(last)}` });
  return last!;
}

t.test("a flood is one group, and no argument is kept", async (t) => {
  for (let sent = 0; sent < 10; sent++) await Promise.all(Array.from({ length: 30 }, refuse));
  const requestId = (await refuse()).headers.get("x-request-id");
  const { groups } = await listed(301);
  t.match(groups, [{ refused: { endpoint: "helloworld:Helloworld.Call", reason: "NO_RULE", code: 401 } }]);
  t.equal(groups.length, 1);
  const found = (await call(url("/v1/auth/Refusals/Find"), { requestId }, admin)).body as { refusals: Refusal[] };
  t.match(found.refusals, [{ call: { requestId, address: "127.0.0.1" } }]);
  t.notMatch(JSON.stringify([groups, found]), ARGUMENT);
});

t.test("an authority that starts again gets all of them once, and says since when it lists", async (t) => {
  const { since } = await list();
  await authority.stop("SIGKILL");
  authority = await start(["authority"], settings);
  const after = await listed(301);
  t.ok(Date.parse(after.since) > Date.parse(since), "since its start");
  // The next report follows on what the authority has.
  await refuse();
  await listed(302);
});

t.test("a gateway that starts again has forgotten them: an authority keeps them until it restarts", async (t) => {
  await gateway.stop();
  gateway = await start(["gateway"], joined);
  await listed(302);
  await authority.stop();
  const stopped = Date.now();
  authority = await start(["authority"], settings);
  await refuse();
  const { groups, since } = await listed(1);
  t.equal(groups.length, 1, "what was lost is not listed");
  t.ok(Date.parse(since) >= stopped, "and the list says since when it is complete");
});
