// Certificate files are read at the start. A wrong one stops the start with a message that names
// file and setting.
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { join } from "node:path";
import pino from "pino";
import t from "tap";
import { followCertificates, HTTP_CERTIFICATES } from "../../src/config/certificates.js";
import { type Config, loadConfig } from "../../src/config/config.js";
import { createAuthority } from "../http2/certificates.js";

const authority = createAuthority("authority");
const own = authority.issue("localhost");
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const cut = Buffer.from(authority.cert.toString().replace(/.{20}\n-----END/, "\n-----END"));
const encrypted = (form: { type: "pkcs8" | "sec1" }): Buffer =>
  Buffer.from(privateKey.export({ ...form, format: "pem", cipher: "aes-128-cbc", passphrase: "x" }));
const folder = t.testdir({
  "ca.pem": authority.cert,
  "own.pem": own.cert,
  "own.key": own.key,
  "other.key": authority.issue("localhost").key,
  "text.pem": "no certificate",
  "ca.der": new X509Certificate(authority.cert).raw,
  "cut-bundle.pem": Buffer.concat([authority.cert, cut]),
  "cut-chain.pem": Buffer.concat([own.cert, cut]),
  "encrypted.key": encrypted({ type: "pkcs8" }),
  "encrypted-old.key": encrypted({ type: "sec1" }),
});
const file = (name: string) => (name === "" ? undefined : join(folder, name));
const files = (...names: string[]) => names.map((name) => join(folder, name));
const settings = (tlsCa = "", tlsCert = "", tlsKey = ""): Pick<Config, "tlsCa" | "tlsCert" | "tlsKey"> => ({
  tlsCa: file(tlsCa),
  tlsCert: file(tlsCert),
  tlsKey: file(tlsKey),
});

/** Reads the certificates as at a start. */
function readCertificates(config: Parameters<typeof followCertificates>[0], names?: typeof HTTP_CERTIFICATES) {
  const stopping = new AbortController();
  try {
    const log = pino({ level: "silent" });
    const { ca, cert, key } = followCertificates(config, { log, signal: stopping.signal }, names);
    return { ca, cert, key };
  } finally {
    stopping.abort();
  }
}

t.test("accepts no certificate, an authority's, one with its key, or both", async (t) => {
  t.same(readCertificates(settings()), { ca: undefined, cert: undefined, key: undefined });
  t.same(readCertificates(settings("ca.pem")), { ca: authority.cert, cert: undefined, key: undefined });
  t.same(readCertificates(settings("", "own.pem", "own.key")), { ca: undefined, ...own });
  t.same(readCertificates(settings("ca.pem", "own.pem", "own.key")), { ca: authority.cert, ...own });
});

const ENCRYPTED = /^.*encrypted.*\.key \(PORTICO_TLS_KEY\) is an encrypted key, and there is no passphrase: decrypt it/;
const wrong: [why: string, given: ReturnType<typeof settings>, message: RegExp][] = [
  ["certificate without key", settings("", "own.pem"), /^PORTICO_TLS_CERT is set without PORTICO_TLS_KEY: they go/],
  ["key without certificate", settings("", "", "own.key"), /^PORTICO_TLS_KEY is set without PORTICO_TLS_CERT: they go/],
  ["no such file", settings("none.pem"), /^PORTICO_TLS_CA cannot be read: ENOENT.*none\.pem/],
  ["no certificate", settings("text.pem"), /text\.pem \(PORTICO_TLS_CA\) has no PEM certificate/],
  [
    "a key for a certificate",
    settings("", "own.key", "own.key"),
    /own\.key \(PORTICO_TLS_CERT\) has no PEM certificate/,
  ],
  ["not PEM", settings("ca.der"), /ca\.der \(PORTICO_TLS_CA\) has no PEM certificate$/],
  [
    "an authority of several cut off",
    settings("cut-bundle.pem"),
    /cut-bundle\.pem \(PORTICO_TLS_CA\) has a certificate, 2 of 2, that cannot be read: /,
  ],
  [
    "an intermediate certificate cut off",
    settings("", "cut-chain.pem", "own.key"),
    /cut-chain\.pem \(PORTICO_TLS_CERT\) has a certificate, 2 of 2, that cannot be read: /,
  ],
  ["an encrypted key", settings("", "own.pem", "encrypted.key"), ENCRYPTED],
  ["a key encrypted in the older form", settings("", "own.pem", "encrypted-old.key"), ENCRYPTED],
  ["no key", settings("", "own.pem", "text.pem"), /text\.pem \(PORTICO_TLS_KEY\) is no key for .*own\.pem/],
  ["key of another", settings("", "own.pem", "other.key"), /other\.key \(PORTICO_TLS_KEY\) is no key for .*own\.pem/],
];

for (const [why, given, message] of wrong) {
  t.test(`refuses: ${why}`, async (t) => {
    t.throws(() => readCertificates(given), { name: "ConfigError", message });
  });
}

t.test("the certificate of the HTTP port has its own settings", async (t) => {
  const named = { httpTlsCert: files("own.pem"), httpTlsKey: files("own.key"), tlsCa: file("none.pem") };
  t.same(readCertificates(named, HTTP_CERTIFICATES), { ca: undefined, ...own });
  const mutual = { ...named, httpTlsClientCa: file("ca.pem") };
  t.same(readCertificates(mutual, HTTP_CERTIFICATES), { ca: authority.cert, ...own });
  t.throws(() => readCertificates({ ...named, httpTlsClientCa: file("text.pem") }, HTTP_CERTIFICATES), {
    name: "ConfigError",
    message: /text\.pem \(PORTICO_HTTP_TLS_CLIENT_CA\) has no PEM certificate/,
  });
  t.throws(() => readCertificates({ httpTlsCert: files("own.pem") }, HTTP_CERTIFICATES), {
    name: "ConfigError",
    message: /^PORTICO_HTTP_TLS_CERT is set without PORTICO_HTTP_TLS_KEY: they go together/,
  });
});

t.test("paths of certificates are relative to the configuration file", async (t) => {
  const data = t.testdir({
    "portico.json":
      '{"tlsCa": "ca.pem", "tlsCert": "/etc/own.pem", "tlsKey": "keys/own.key", "httpTlsCert": "a, b/http.pem: /etc/b.pem"}',
  });
  const { tlsCa, tlsCert, tlsKey, httpTlsCert } = loadConfig({}, { PORTICO_DATA: data });
  t.same([tlsCa, tlsCert, tlsKey], [join(data, "ca.pem"), "/etc/own.pem", join(data, "keys/own.key")]);
  t.same(httpTlsCert, [join(data, "a, b/http.pem"), "/etc/b.pem"]);
});
