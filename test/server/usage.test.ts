// What is called is counted to the last call, across stops and between processes.
import t from "tap";
import { type Portico, start } from "./process.js";

const PASSWORD = "correct horse battery";

/** Calls to an endpoint that are counted, asked by HTTP as anyone may. */
async function usageOf(portico: Portico, service: string): Promise<Record<string, unknown>> {
  const post = async (path: string, body: object, token?: string) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { "content-type": "application/json", ...authorization };
    const response = await fetch(portico.address("HTTP") + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return response.json();
  };
  const { accessToken } = await post("/auth/Auth/Login", { account: "admin", password: PASSWORD });
  const { endpoints } = await post("/v1/auth/Usage/List", { span: "600s", service }, accessToken);
  return Object.fromEntries(
    endpoints.map(({ endpoint, calls }: { endpoint: string; calls: Record<string, string> }) => [
      endpoint,
      [calls.total, calls.clientErrors, calls.serverErrors].join(" "),
    ]),
  );
}

t.test("in one process, a stop and a start lose no call", async (t) => {
  const env = { PORTICO_DATA: t.testdir(), PORTICO_ADMIN_PASSWORD: PASSWORD };
  const before = await start(["server"], env);
  t.teardown(() => before.stop());
  for (const query of ["name=Ada", "name=Grace", "nam=Ada"]) {
    await (await fetch(`${before.address("HTTP")}/helloworld/call?${query}`)).text();
  }
  await before.stop();
  const after = await start(["server"], env);
  t.teardown(() => after.stop());
  t.same(await usageOf(after, ""), { "Helloworld.Call": "3 1 0" });
});

t.test("between processes, each gateway tells the authority", async (t) => {
  const data = t.testdir();
  const authority = await start(["authority"], { PORTICO_DATA: data, PORTICO_ADMIN_PASSWORD: PASSWORD });
  t.teardown(() => authority.stop());
  const env = { PORTICO_DATA: data, PORTICO_AUTHORITY: authority.address("gRPC") };
  const [one, other] = await Promise.all([start(["gateway"], env), start(["gateway"], env)]);
  t.teardown(() => other.stop());
  t.teardown(() => one.stop());
  for (let call = 0; call < 2; call++) await (await fetch(`${one.address("HTTP")}/registry/list`)).text();
  await one.stop();
  t.same(await usageOf(other, "registry"), { "Registry.List": "2 0 0" });
});
