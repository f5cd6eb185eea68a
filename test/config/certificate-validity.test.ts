/**
 * A certificate that clients refuse because of its validity period is used, because the clock may
 * be wrong, but a warning is logged.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { mock } from "node:test";
import { pino } from "pino";
import t, { type Test } from "tap";
import {
  type CertificateSettings,
  certificateEnds,
  certificateFaults,
  followCertificates,
  GRPC_CERTIFICATES,
  HTTP_CERTIFICATES,
} from "../../src/config/certificates.js";
import { createAuthority } from "../http2/certificates.js";
import { setWallClock } from "../support/clock.js";

const MINUTE = 60_000;
const DAY = 86_400_000;
const authority = createAuthority("authority");

/** A certificate that is valid from and to a number of days from now. */
function filesOf(t: Test, from: number, to: number) {
  const at = (days: number) => new Date(Date.now() + days * DAY);
  const { cert, key } = authority.issue("localhost", [at(from), at(to)]);
  const folder = t.testdir({ cert, key });
  return { tlsCert: join(folder, "cert"), tlsKey: join(folder, "key") };
}

/** The log lines for a certificate. */
function logged(
  t: Test,
  files: Parameters<typeof followCertificates>[0],
  settings: CertificateSettings = GRPC_CERTIFICATES,
): unknown[] {
  const said: unknown[] = [];
  const log = pino({}, { write: (line) => void said.push(JSON.parse(line)) });
  const closing = new AbortController();
  t.teardown(() => closing.abort());
  followCertificates(files, { log, signal: closing.signal }, settings);
  return said;
}

const CASES: [what: string, from: number, to: number, message: string | undefined][] = [
  ["valid for long", -1, 80, undefined],
  ["renewed every hour", -0.01, 0.03, undefined],
  ["in its last days", -85, 5, "the certificate expires soon: replace it"],
  ["over", -90, -1, "the certificate has expired: clients refuse it"],
  ["not yet valid", 1, 90, "the certificate is not yet valid: clients refuse it"],
];

for (const [what, from, to, message] of CASES) {
  t.test(`a certificate that is ${what}`, async (t) => {
    const expected = message === undefined ? [] : [{ level: 40, msg: message, setting: "PORTICO_TLS_CERT" }];
    const files = filesOf(t, from, to);
    const said = logged(t, files);
    t.equal(said.length, expected.length);
    t.match(said, expected);
    t.same(
      certificateFaults(files).map(({ setting, fault }) => ({ setting, msg: `the certificate ${fault}` })),
      expected.map(({ setting, msg }) => ({ setting, msg })),
      "as the console shows it",
    );
  });
}

t.test("a certificate that ends while the process runs is logged within a minute, and then once a day", async (t) => {
  mock.timers.enable({ apis: ["setInterval"] });
  t.teardown(() => mock.timers.reset());
  const said = logged(t, filesOf(t, -85, 5));
  const messages = () => said.map((line) => (line as { readonly msg: string }).msg);
  mock.timers.tick(MINUTE);
  t.same(messages(), ["the certificate expires soon: replace it"], "not each minute");
  setWallClock(t, 6 * DAY);
  mock.timers.tick(MINUTE);
  t.same(messages().slice(1), ["the certificate has expired: clients refuse it"]);
  mock.timers.tick(DAY);
  t.equal(messages().length, 3);
});

t.test("each of several certificates counts, and has the name of its file", async (t) => {
  const until = (days: number) => authority.issue("localhost", [new Date(0), new Date(Date.now() + days * DAY)]);
  const [good, old] = [until(80), until(-1)];
  const folder = t.testdir({ good: good.cert, goodKey: good.key, old: old.cert, oldKey: old.key });
  const files = (...names: string[]) => names.map((name) => join(folder, name));
  const config = { httpTlsCert: files("good", "old"), httpTlsKey: files("goodKey", "oldKey") };
  const expected = { setting: "PORTICO_HTTP_TLS_CERT", file: join(folder, "old") };
  t.match(logged(t, config, HTTP_CERTIFICATES), [
    { ...expected, msg: "the certificate has expired: clients refuse it" },
  ]);
  t.match(certificateFaults(config), [
    { setting: "PORTICO_HTTP_TLS_CERT (old)", fault: "has expired: clients refuse it" },
  ]);
});

t.test(
  "a certificate that is not in use, because it was replaced without its key, is not said to be right",
  async (t) => {
    const { tlsCert, tlsKey } = filesOf(t, -1, 80);
    writeFileSync(tlsCert, authority.issue("localhost").cert);
    t.throws(() => certificateFaults({ tlsCert, tlsKey }), { name: "ConfigError", message: /is no key for / });
  },
);

const AUTHORITIES: Record<string, [ends: readonly number[], isLogged: boolean]> = {
  "one that is valid": [[80], false],
  "one that is over": [[-1], true],
  "one that is over, and its successor": [[-1, 80], false],
  "two that are over": [[-3, -1], true],
};

for (const [what, [ends, isLogged]] of Object.entries(AUTHORITIES)) {
  t.test(`of trusted authorities, ${what}, ${isLogged ? "is" : "is not"} logged`, async (t) => {
    const certs = ends.map((days) => authority.issue("ca", [new Date(0), new Date(Date.now() + days * DAY)]).cert);
    const tlsCa = join(t.testdir({ ca: Buffer.concat(certs) }), "ca");
    const expected = { setting: "PORTICO_TLS_CA", file: tlsCa, msg: "the certificate has expired: clients refuse it" };
    const said = logged(t, { tlsCa });
    t.equal(said.length, isLogged ? 1 : 0);
    if (isLogged) t.match(said, [expected]);
  });
}

t.test("metrics say when the certificate of each setting expires", async (t) => {
  const { tlsCert } = filesOf(t, -1, 80);
  const missing = join(tlsCert, "missing");
  // A file may have both.
  const ends = certificateEnds({ tlsCert, tlsKey: tlsCert, httpTlsClientCa: tlsCert, httpTlsCert: [missing] });
  t.same(
    ends.map(([variable]) => variable),
    ["PORTICO_TLS_CERT", "PORTICO_HTTP_TLS_CLIENT_CA"],
    "not of a key's file, and of no file that cannot be read",
  );
  for (const [, seconds] of ends) t.ok(Math.abs(seconds * 1000 - Date.now() - 80 * DAY) < 60_000);
});

t.test("of several files, each has a name of its own, also where they have one name in several folders", async (t) => {
  const { cert, key } = authority.issue("localhost");
  const folder = t.testdir({ shop: { "tls.crt": cert, "tls.key": key }, api: { "tls.crt": cert }, "own.pem": cert });
  const files = ["shop/tls.crt", "api/tls.crt", "own.pem", "own.pem"].map((name) => join(folder, name));
  t.same(
    certificateEnds({ httpTlsCert: files }).map(([name]) => name),
    ["shop/tls.crt", "api/tls.crt", "own.pem"].map((name) => `PORTICO_HTTP_TLS_CERT (${name})`),
  );
});
