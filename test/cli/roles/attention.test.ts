// What the console's overview reads of a gateway: certificates of this process that end soon, and
// authorities that do not respond.
import { join } from "node:path";
import t from "tap";
import { createAuthority } from "../../http2/certificates.js";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { administrator, call, start } from "../../support/process.js";
import { until } from "../../support/until.js";

const DAY = 86_400_000;
const PATH = "/console/attention.json";
const data = await installation(t.testdir());

t.test("a gateway names the authority that was killed, until it runs again", async (t) => {
  const [kept, killed] = await Promise.all([freePort(), freePort()].map(async (port) => `127.0.0.1:${await port}`));
  const authority = await start(["authority"], { PORTICO_DATA: data, PORTICO_GRPC: kept! });
  t.teardown(() => authority.stop());
  // It belongs to another installation, so no guard follows it: only its connection counts here.
  const second = { PORTICO_DATA: t.testdir(), PORTICO_GRPC: killed! };
  const first = await start(["authority"], second);
  const gateway = await start(["gateway"], { PORTICO_DATA: data, PORTICO_AUTHORITY: `${kept},${killed}` });
  t.teardown(() => gateway.stop());
  const http = gateway.address("HTTP");
  const admin = await administrator(http, data);
  const problems = async () =>
    ((await call(http + PATH, undefined, admin)).body as { problems: { name: string; text: string }[] }).problems;
  await until(async () => (await problems()).length === 0);
  await first.stop("SIGKILL");
  // The authority of another installation refuses the gateway's token, so that may be named first.
  await until(async () => /^(cannot be reached|does not respond|failed)/.test((await problems())[0]?.text ?? ""));
  const [problem, ...others] = await problems();
  t.match(problem, { name: `The authority at ${killed}`, text: /PORTICO_AUTHORITY$/ });
  t.same(others, []);
  const again = await start(["authority"], second);
  t.teardown(() => again.stop());
  await until(async () => (await problems()).length === 0);

  await t.test("only an administrator of default reads it", async (t) => {
    t.equal((await call(http + PATH)).status, 401);
    const { body: team } = await call(`${http}/v1/auth/Namespaces/Create`, { name: "team" }, admin);
    const { adminPassword } = team as { adminPassword: string };
    const account = { account: "admin", password: adminPassword, namespace: "team" };
    const { body } = await call(`${http}/auth/login`, account);
    const authorization = `Bearer ${(body as { accessToken: string }).accessToken}`;
    t.equal((await call(http + PATH, undefined, { authorization })).status, 403);
  });
});

t.test("a server names its certificate that ends soon", async (t) => {
  const at = (days: number) => new Date(Date.now() + days * DAY);
  const { cert, key } = createAuthority("authority").issue("localhost", [at(-85), at(5)]);
  const files = t.testdir({ cert, key });
  const folder = await installation(join(files, "data"));
  const server = await start(["server"], {
    PORTICO_DATA: folder,
    PORTICO_TLS_CERT: join(files, "cert"),
    PORTICO_TLS_KEY: join(files, "key"),
  });
  t.teardown(() => server.stop());
  const http = server.address("HTTP");
  const admin = await administrator(http, folder);
  const name = "The certificate of PORTICO_TLS_CERT";
  t.match((await call(http + PATH, undefined, admin)).body, {
    problems: [{ name, text: /^expires soon: replace it\. It is valid until 20/ }],
  });
});
