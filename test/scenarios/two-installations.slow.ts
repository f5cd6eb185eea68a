/**
 * Two installations on one machine. A service that joins one of them does not change the data of
 * the other, even if its data folder belongs to the other. The first minutes of
 * docs/five-minutes.md can also be done in both.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { administrator, call, type Portico, start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";
import { fiveMinutes } from "./five-minutes.js";
import { replay } from "./transcript.js";

/**
 * Node flags for a process that looks for data of deleted namespaces. Instead of minutes it waits
 * 50 ms, at the start and between two sweeps.
 */
const SHORT_INTERVALS = [
  "--import",
  `data:text/javascript,${encodeURIComponent(
    "const real = setTimeout; globalThis.setTimeout = (act, ms, ...rest) => real(act, ms === 60_000 || ms === 600_000 ? 50 : ms, ...rest);",
  )}`,
];
/** A log line of a call in which a process asks the authority for all namespaces. */
const LISTED_NAMESPACES = /"endpoint":"auth:Policy\.ListNamespaceIds"/g;

async function started(t: Test, ...given: Parameters<typeof start>): Promise<Portico> {
  const portico = await start(...given);
  t.teardown(() => portico.stop());
  return portico;
}

/** Waits for the log line that names the store. */
const registeredWith = (service: Portico, store: string) =>
  until(() => service.errors().includes(`"store":"${store}","msg":"registered"`), {
    what: () => `it registers with ${store}; the log is ${service.errors()}`,
  });

/** The value that a cache stores for a key. */
async function cached(http: string, key = "of"): Promise<unknown> {
  const { body } = await call(`${http}/cache/get`, { key });
  return (body as { value?: unknown }).value;
}

/**
 * Creates the namespace `team`, whose accounts may call everything.
 * @returns the header of its administrator
 */
async function createTeam(http: string, admin: Record<string, string>): Promise<{ authorization: string }> {
  const created = await call(`${http}/v1/auth/Namespaces/Create`, { name: "team" }, admin);
  const password = (created.body as { adminPassword: string }).adminPassword;
  const { body } = await call(`${http}/auth/login`, { account: "admin", password, namespace: "team" });
  const team = { authorization: `Bearer ${(body as { accessToken: string }).accessToken}` };
  const rule = { id: "all", scope: "*", access: "GRANTED", resource: "*:*:*" };
  await call(`${http}/v1/auth/Rules/Create`, { rule }, team);
  return team;
}

const put = (http: string, value: string) => call(`${http}/cache/set`, { key: "of", value });

t.test("a service that joins B on A's machine, with A's data folder, keeps its data apart from A's", async (t) => {
  const folder = temporaryFolder(t);
  const [dataA, dataB] = [join(folder, "a"), join(folder, "b")];
  const a = await started(t, ["server"], { PORTICO_DATA: dataA });
  const [httpA, administratorA] = [a.address("HTTP"), await administrator(a.address("HTTP"), dataA)];
  await put(httpA, "A");
  // In a namespace that B does not know.
  const team = await createTeam(httpA, administratorA);
  await call(`${httpA}/v1/cache/set`, { key: "of", value: "A's team" }, team);
  const own = { PORTICO_DATA: dataB, PORTICO_OWN_SERVICES: "helloworld", PORTICO_LOG_LEVEL: "info" };
  const b = await started(t, ["server"], own);
  const httpB = b.address("HTTP");
  const admin = await administrator(httpB, dataB);
  const { body } = await call(`${httpB}/v1/auth/Enrolments/Create`, { name: "cache" }, admin);
  const joined = {
    PORTICO_DATA: dataA,
    PORTICO_AUTHORITY: b.address("gRPC"),
    PORTICO_ENROLMENT: (body as { secret: string }).secret,
    PORTICO_LOG_LEVEL: "info",
  };
  const service = await started(t, ["service", "cache"], joined, ".", SHORT_INTERVALS);
  await until(async () => (await put(httpB, "B")).status === 200);
  await registeredWith(service, join(dataA, "services", "cache", "services.sqlite"));
  const asked = () => b.errors().match(LISTED_NAMESPACES)?.length ?? 0;
  const before = asked();
  await until(() => asked() >= before + 3, { what: () => `it looks for left data; the log is ${b.errors()}` });
  t.equal(await cached(httpA), "A", "after the sweeps");
  t.match((await call(`${httpA}/v1/cache/get`, { key: "of" }, team)).body, { value: "A's team" });
  t.equal(await cached(httpB), "B");

  const shared = { ...joined, PORTICO_SERVICE_STORE: `sqlite:${join(dataA, "services.sqlite")}` };
  await service.stop();
  await t.rejects(start(["service", "cache"], shared), {
    message:
      /exit 1\):\n.*services\.sqlite belongs to another installation of Portico \([0-9a-f-]{36}\), and this process to/s,
  });
  t.equal(await cached(httpA), "A");
});

t.test("a service on the machine of its installation's server shares the server's store", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const server = await started(t, ["server"], { PORTICO_DATA: data });
  const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: server.address("gRPC"), PORTICO_LOG_LEVEL: "info" };
  const service = await started(t, ["service", "cache"], joined);
  await registeredWith(service, join(data, "services.sqlite"));
  t.notOk(existsSync(join(data, "services", "cache")));
});

t.test("a service with a folder other than the server's is refused, and the error says what to do", async (t) => {
  const folder = temporaryFolder(t);
  const server = await started(t, ["server"], { PORTICO_DATA: join(folder, "data") });
  const admin = await administrator(server.address("HTTP"), join(folder, "data"));
  const { body } = await call(`${server.address("HTTP")}/v1/auth/Enrolments/Create`, { name: "cache" }, admin);
  const elsewhere = {
    PORTICO_DATA: join(folder, "elsewhere"),
    PORTICO_AUTHORITY: server.address("gRPC"),
    PORTICO_ENROLMENT: (body as { secret: string }).secret,
  };
  await t.rejects(start(["service", "cache"], elsewhere), {
    message:
      /elsewhere\/services\/cache\/services\.sqlite, and the one in the authority's own process in \S+\/data\/services\.sqlite: .*On the authority's machine, name .* the authority's data folder in PORTICO_DATA; or leave cache out of PORTICO_OWN_SERVICES/,
  });
});

t.test("the five minutes, done in two installations on one machine, do not affect each other", async (t) => {
  const home = temporaryFolder(t);
  mkdirSync(join(home, "data"), { recursive: true });
  const env = { HOME: home, XDG_DATA_HOME: join(home, "data") };
  const first = await started(t, ["server"], env);
  const second = await started(t, ["server", "--data", join(home, "second")], env);
  const [https, folders] = [
    [first.address("HTTP"), second.address("HTTP")],
    [join(home, "data", "portico"), join(home, "second")],
  ];
  const [minutes] = fiveMinutes();
  for (const [index, http] of https.entries()) {
    // The minutes begin with a call without a token. Only this installation still allows it.
    await replay(t, minutes!, { url: http, data: folders[index]! });
    const admin = await administrator(http, folders[index]!);
    const visits = await call(`${http}/v1/cache/increment`, { key: "visits" }, admin);
    t.match(visits.body, { value: "1" }, "the same command gives the same answer in both");
  }
  const admin = await administrator(https[0]!, folders[0]!);
  const visits = await call(`${https[1]}/v1/cache/get`, { key: "visits" }, admin);
  t.equal(visits.status, 401, "a token of the other is nobody's");
});
