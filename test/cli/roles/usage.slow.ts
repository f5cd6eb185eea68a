// Every call is counted, across stops and between processes.

import t from "tap";
import { installation } from "../../support/installation.js";
import { administrator, call, type Portico, start } from "../../support/process.js";

interface Listed {
  readonly endpoints: readonly { readonly endpoint: string; readonly calls: Readonly<Record<string, string>> }[];
}

/** Calls to a service's endpoints: all, client errors, server errors. */
async function usageOf(portico: Portico, data: string, service: string): Promise<Record<string, string>> {
  const http = portico.address("HTTP");
  const headers = await administrator(http, data);
  const { body } = await call(`${http}/v1/auth/Usage/List`, { span: "600s", service }, headers);
  const { endpoints } = body as Listed;
  return Object.fromEntries(
    endpoints.map(({ endpoint, calls: { total, clientErrors, serverErrors } }) => [
      endpoint,
      `${total} ${clientErrors} ${serverErrors}`,
    ]),
  );
}

t.test("in one process, a stop and a start lose no call", async (t) => {
  const data = await installation(t.testdir());
  const env = { PORTICO_DATA: data };
  const before = await start(["server"], env);
  t.teardown(() => before.stop());
  for (const query of ["name=Ada", "name=Grace", "nam=Ada"]) {
    await call(`${before.address("HTTP")}/helloworld/call?${query}`);
  }
  await before.stop();
  const after = await start(["server"], env);
  t.teardown(() => after.stop());
  t.same(await usageOf(after, data, ""), { "Helloworld.Call": "3 1 0" });
});

t.test("between processes, each gateway reports to the authority", async (t) => {
  const data = await installation(t.testdir());
  const authority = await start(["authority"], { PORTICO_DATA: data });
  t.teardown(() => authority.stop());
  const env = { PORTICO_DATA: data, PORTICO_AUTHORITY: authority.address("gRPC") };
  const [one, other] = await Promise.all([start(["gateway"], env), start(["gateway"], env)]);
  t.teardown(() => other.stop());
  t.teardown(() => one.stop());
  for (let calls = 0; calls < 2; calls++) await call(`${one.address("HTTP")}/registry/list`);
  await one.stop();
  t.same(await usageOf(other, data, "registry"), { "Registry.List": "2 0 0" });
});
