// API keys for clients at some addresses, over a socket: the connection's address, or the one that
// a trusted proxy names.

import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { temporaryFolder } from "../../support/temporary.js";
import { type Deployment, deploy, login, post } from "../deployment.js";

interface Scene extends Deployment {
  create(from: string[]): Promise<string>;
  /** Calls an endpoint for any account. Returns the status, and why it was refused. */
  call(
    key: string,
    headers?: Record<string, string>,
    host?: string,
  ): Promise<{ status: number | undefined; detail: string }>;
}

async function scene(t: Test, flags: Record<string, string>): Promise<Scene> {
  const deployment = await deploy(temporaryFolder(t), { flags });
  t.teardown(() => deployment.close());
  const admin = await login(deployment.handler, "admin");
  const { port } = deployment.gateway.address;
  return {
    ...deployment,
    create: async (from) =>
      `${(await post(deployment.handler, "/v1/auth/Keys/Create", { name: "k", from }, admin)).secret}`,
    async call(key, headers = {}, host = "127.0.0.1") {
      const sent = {
        authorization: `Bearer ${key}`,
        host: "portico.test",
        "content-type": "application/json",
        ...headers,
      };
      const path = "/v1/helloworld/Helloworld/Call";
      const asked = request({ host, port, path, method: "POST", headers: sent, agent: false }).end('{"name":"Ada"}');
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      const { Detail: detail } = JSON.parse(await text(response));
      return { status: response.statusCode, detail };
    },
  };
}

const proxied = (client: string) => ({ "x-forwarded-for": client });

t.test("behind a trusted proxy the address that it names counts", async (t) => {
  const { create, call } = await scene(t, { trustedProxies: "127.0.0.1" });
  const [four, six, mapped] = [
    await create(["192.0.2.0/24"]),
    await create(["2001:db8::/32"]),
    await create(["::ffff:192.0.2.0/120"]),
  ];
  const cases: [key: string, client: Record<string, string>, status: number][] = [
    [four, proxied("192.0.2.9"), 200],
    [four, proxied("::ffff:192.0.2.9"), 200],
    [four, proxied("198.51.100.1"), 401],
    [four, {}, 401],
    // Left of a hop that is not trusted nothing counts.
    [four, proxied("192.0.2.9, 198.51.100.1"), 401],
    [four, proxied("198.51.100.1, 192.0.2.9"), 200],
    [four, { forwarded: 'for="192.0.2.9:4711"' }, 200],
    [six, { forwarded: 'for="[2001:db8::1]:4711"' }, 200],
    [six, proxied("2001:0DB8:0:0::1"), 200],
    [six, proxied("2001:db9::1"), 401],
    [six, proxied("192.0.2.9"), 401],
    [mapped, proxied("192.0.2.9"), 200],
    [mapped, proxied("192.0.3.9"), 401],
  ];
  for (const [key, client, status] of cases) {
    t.equal((await call(key, client)).status, status, `${key.slice(0, 10)} ${JSON.stringify(client)}`);
  }
});

t.test("without trusted proxies the connection's address counts, whatever headers say", async (t) => {
  const { create, call } = await scene(t, {});
  const [here, elsewhere] = [await create(["127.0.0.0/8"]), await create(["192.0.2.0/24"])];
  t.equal((await call(here, proxied("192.0.2.9"))).status, 200);
  const { status, detail } = await call(elsewhere, proxied("192.0.2.9"));
  t.equal(status, 401);
  t.match(
    detail,
    /^Unauthorized call made to .*: the API key ptk_\w+ is for clients at other addresses; call from one/,
  );
});

t.test("a port that listens at IPv6 sees IPv4 clients by mapped addresses", async (t) => {
  const { create, call } = await scene(t, { http: "[::]:0" });
  const [four, six] = [await create(["127.0.0.1"]), await create(["::1"])];
  t.same([(await call(four)).status, (await call(six)).status], [200, 401]);
  t.same([(await call(four, {}, "::1")).status, (await call(six, {}, "::1")).status], [401, 200]);
});

t.test("where anyone may call, such a key counts as no key", async (t) => {
  const { handler, create, gateway } = await scene(t, {});
  const key = await create(["192.0.2.0/24"]);
  const url = `http://127.0.0.1:${gateway.address.port}/helloworld/call`;
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = async () => (await fetch(url, { method: "POST", body: '{"name":"Ada"}', headers })).status;
  t.equal(await ask(), 200);
  await post(handler, "/v1/auth/Rules/Delete", { id: "default" }, await login(handler, "admin"));
  t.equal(await ask(), 401);
});
