// The client's address behind a proxy, in running processes: the throttle after failed logins, the
// log, several workers behind one port, and starts that are refused.
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import t from "tap";
import { parseAddress } from "../../../src/address/address.js";
import { installation } from "../../support/installation.js";
import { administrator, call, refused, start } from "../../support/process.js";
import { until } from "../../support/until.js";

const data = await installation(t.testdir());
const TRUSTED = { PORTICO_TRUSTED_PROXIES: "127.0.0.1" };
const server = await start(["server"], { PORTICO_DATA: data, PORTICO_LOG_LEVEL: "info", ...TRUSTED });
t.teardown(() => server.stop());
const http = server.address("HTTP");
const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: server.address("gRPC") };

const by = (client: string) => ({ "x-forwarded-for": `203.0.113.66, ${client}` });
const logIn = (at: string, client: string) =>
  call(`${at}/auth/login`, { account: "admin", password: "a wrong password" }, by(client));

interface AuditRecord {
  readonly change: string;
  readonly address?: string;
}

/** The failed logins in the audit trail, by client. */
async function failedLogins(): Promise<string> {
  const admin = await administrator(http, data);
  const { body } = await call(`${http}/v1/auth/Audit/List`, {}, admin);
  return JSON.stringify((body as { entries?: AuditRecord[] }).entries ?? body);
}

await t.test("failed logins throttle the client that a trusted proxy names, and no other", async (t) => {
  const statuses: number[] = [];
  while (statuses.at(-1) !== 429 && statuses.length < 12) statuses.push((await logIn(http, "192.0.2.7")).status);
  t.equal(statuses.at(-1), 429, `${statuses}`);
  t.equal((await logIn(http, "192.0.2.8")).status, 401, "another client of the proxy");
  const trail = await failedLogins();
  t.match(trail, "192.0.2.7");
  t.match(trail, "192.0.2.8");
  t.notMatch(trail, "203.0.113.66");
});

await t.test("a gateway in another process reports its client to the authority", async (t) => {
  const gateway = await start(["gateway"], { ...joined, ...TRUSTED });
  t.teardown(() => gateway.stop());
  t.equal((await logIn(gateway.address("HTTP"), "192.0.2.9")).status, 401);
  t.match(await failedLogins(), "192.0.2.9");
});

await t.test("the log contains the client of a request that is refused", async (t) => {
  await call(`${http}/v1/helloworld/Call`, { name: "Ada" }, by("192.0.2.10"));
  await until(() => /"status":401,.*"address":"192\.0\.2\.10"/.test(server.errors()), {
    what: () => `a line with the address; there are ${server.errors()}`,
  });
  t.notMatch(server.errors(), "203.0.113.66");
});

await t.test("each worker reads PROXY headers", async (t) => {
  const env = { ...joined, ...TRUSTED, PORTICO_PROXY_PROTOCOL: "require" };
  const gateways = await start(["gateway", "--workers", "2"], { ...env, PORTICO_LOG_LEVEL: "info" });
  t.teardown(() => gateways.stop());
  const address = parseAddress(new URL(gateways.address("HTTP")).host);
  const ask = async (header: string): Promise<string> => {
    const socket = connect(address);
    t.teardown(() => socket.destroy());
    await once(socket, "connect");
    socket.write(`${header}POST /v1/helloworld/call HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    return text(socket);
  };
  for (let client = 1; client <= 8; client++) {
    t.match(await ask(`PROXY TCP4 198.51.100.${client} 10.0.0.1 4711 80\r\n`), /^HTTP\/1\.1 401 /);
  }
  t.equal(await ask(""), "");
  await until(
    () => /"address":"198\.51\.100\.8"/.test(gateways.errors()) && /no PROXY header/.test(gateways.errors()),
    {
      what: () => `lines of the workers; there are ${gateways.errors()}`,
    },
  );
});

await t.test("a start with the PROXY protocol but without trusted proxies is refused", async (t) => {
  for (const role of [["server"], ["gateway"], ["gateway", "--workers", "2"]]) {
    const env = role[0] === "server" ? { PORTICO_DATA: t.testdir() } : joined;
    const ports = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };
    const { code, output } = await refused(role, { ...env, ...ports, PORTICO_PROXY_PROTOCOL: "accept" });
    t.equal(code, 2);
    t.match(output, "PORTICO_PROXY_PROTOCOL is accept without PORTICO_TRUSTED_PROXIES: name the proxies");
  }
});
