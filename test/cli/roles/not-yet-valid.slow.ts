// A gateway waits because a certificate is not valid yet. The admin port says which one.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { createAuthority } from "../../http2/certificates.js";
import { installation } from "../../support/installation.js";
import { call, type Portico, start } from "../../support/process.js";
import { until } from "../../support/until.js";

const DAY = 86_400_000;
const certified = createAuthority("authority");
const folder = t.testdir({ "ca.pem": certified.cert, data: {} });
const data = await installation(join(folder, "data"));

/** Settings of a process whose certificate becomes valid `fromDays` days from now. */
function tls(name: string, fromDays: number): Record<string, string> {
  const at = (days: number) => new Date(Date.now() + days * DAY);
  const { cert, key } = certified.issue("localhost", [at(fromDays), at(90)]);
  writeFileSync(join(folder, `${name}.pem`), cert);
  writeFileSync(join(folder, `${name}.key`), key);
  return {
    PORTICO_DATA: data,
    PORTICO_TLS_CA: join(folder, "ca.pem"),
    PORTICO_TLS_CERT: join(folder, `${name}.pem`),
    PORTICO_TLS_KEY: join(folder, `${name}.key`),
  };
}

async function detailOf(portico: Portico): Promise<string> {
  const { body } = await call(portico.address("Metrics").replace("/metrics", "/readyz"));
  return (body as { Detail: string }).Detail;
}

const cases: [whose: string, authority: number, gateway: number, detail: RegExp][] = [
  [
    "the authority's",
    1,
    -1,
    /^Not ready: the authority at grpcs:\/\/\S+ cannot be reached: certificate is not yet valid$/,
  ],
  ["its own", -1, 1, /: the certificate of this process is not yet valid \(\S+Z to \S+Z\); is its clock right\?$/],
];

for (const [whose, authorityFrom, gatewayFrom, detail] of cases) {
  t.test(`${whose} certificate`, async (t) => {
    const authority = await start(["authority"], tls("authority", authorityFrom));
    t.teardown(() => authority.stop());
    const env = { ...tls("gateway", gatewayFrom), PORTICO_AUTHORITY: authority.address("gRPC") };
    const gateway = await start(["gateway"], env);
    t.teardown(() => gateway.stop());
    await until(async () => detail.test(await detailOf(gateway)));
    t.match(await detailOf(gateway), detail);
  });
}
