// What `portico doctor` finds at a server that serves calls and must be mended: its clock is wrong,
// and its certificate has expired.
import { join } from "node:path";
import t from "tap";
import type { Finding } from "../../../cli/doctor/finding.js";
import { createAuthority } from "../../http2/certificates.js";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { start } from "../../support/process.js";
import { until } from "../../support/until.js";
import { portico } from "../command-line.js";

const DAY_MS = 86_400_000;

/** After SIGUSR2 the process sees a clock that is two days behind. */
const CLOCK = `
  const { now } = Date;
  let offset = 0;
  Date.now = () => now() + offset;
  process.on("SIGUSR2", () => { offset = -${2 * DAY_MS}; });
`;

t.test("a wrong clock is a warning, an expired certificate a problem", async (t) => {
  const at = (days: number) => new Date(Date.now() + days * DAY_MS);
  const { cert, key } = createAuthority("authority").issue("localhost", [at(-90), at(-1)]);
  const folder = t.testdir({ cert, key });
  const data = await installation(join(folder, "data"));
  const env = {
    PORTICO_DATA: data,
    PORTICO_HTTP: `127.0.0.1:${await freePort()}`,
    PORTICO_GRPC: `127.0.0.1:${await freePort()}`,
    PORTICO_ADMIN: `127.0.0.1:${await freePort()}`,
    PORTICO_HTTP_TLS_CERT: join(folder, "cert"),
    PORTICO_HTTP_TLS_KEY: join(folder, "key"),
  };
  const options = `--import=data:text/javascript,${encodeURIComponent(CLOCK)}`;
  const server = await start(["server"], { ...env, NODE_OPTIONS: options });
  t.teardown(() => server.stop());
  server.child.kill("SIGUSR2");

  const examine = async () => {
    const { stdout } = await portico(["doctor", "server", "--url", server.address("HTTP"), "-o", "json"], { env });
    const findings: readonly Finding[] = JSON.parse(stdout);
    return (wanted: string) => findings.filter(({ check }) => check === wanted);
  };
  await until(async () => (await examine())("ready").some(({ state }) => state === "warning"));
  const of = await examine();
  t.match(of("ready"), [{ state: "warning", text: /^Calls are served, but .*clock/ }]);
  t.match(of("certificates"), [
    { state: "problem", text: /PORTICO_HTTP_TLS_CERT has expired .*: replace it$/ },
    { state: "problem", text: /^The certificate of 127\.0\.0\.1:\d+ has expired .*: replace it$/ },
  ]);
  t.match(of("gateway"), [{ state: "problem" }]);
});
