// Several certificates with their keys are lists of files. Lists that do not fit together stop the
// start with a message that names file and setting.
import { join } from "node:path";
import t from "tap";
import { HTTP_CERTIFICATES, namesOf, readCertificates } from "../../src/config/certificates.js";
import { loadConfig } from "../../src/config/config.js";
import { createAuthority } from "../http2/certificates.js";

const authority = createAuthority("authority");
const own = authority.issue("localhost");
const NAMELESS = authority.issue("nameless", undefined, []);
const several = t.testdir({ "own.pem": own.cert, "own.key": own.key, "ip.pem": NAMELESS.cert, "ip.key": NAMELESS.key });
const listed = (certs: string, keys: string) => {
  const paths = (names: string) => names.split(",").map((name) => join(several, name));
  return { httpTlsCert: paths(certs), httpTlsKey: paths(keys) };
};

t.test("several certificates go with as many keys, in the same order", async (t) => {
  const read = readCertificates(listed("ip.pem,own.pem", "ip.key,own.key"), HTTP_CERTIFICATES);
  t.same(read, { ca: undefined, ...NAMELESS, others: [own] });
});

const WRONG_LISTS: Record<string, [certs: string, keys: string, message: RegExp]> = {
  "fewer keys": [
    "ip.pem,own.pem",
    "ip.key",
    /^PORTICO_HTTP_TLS_CERT names 2 files, and PORTICO_HTTP_TLS_KEY 1: name the key/,
  ],
  "more keys": [
    "own.pem",
    "own.key,ip.key",
    /^PORTICO_HTTP_TLS_CERT names 1 file, and PORTICO_HTTP_TLS_KEY 2: name the key/,
  ],
  "another order": ["ip.pem,own.pem", "own.key,ip.key", /own\.key \(PORTICO_HTTP_TLS_KEY\) is no key for .*ip\.pem/],
  "a second one that no client could get": [
    "own.pem,ip.pem",
    "own.key,ip.key",
    /ip\.pem \(PORTICO_HTTP_TLS_CERT\) has no DNS name that a client could ask for .*: name it first, or leave it out$/,
  ],
  "a second one that does not exist": [
    "own.pem,none.pem",
    "own.key,ip.key",
    /^PORTICO_HTTP_TLS_CERT cannot be read: .*none\.pem/,
  ],
};

for (const [what, [certs, keys, message]] of Object.entries(WRONG_LISTS)) {
  t.test(`a list is refused: ${what}`, async (t) => {
    t.throws(() => readCertificates(listed(certs, keys), HTTP_CERTIFICATES), { name: "ConfigError", message });
  });
}

for (const list of ["", ":", "a.pem:", "a.pem: :b.pem"]) {
  t.test(`a list of files is refused: ${JSON.stringify(list)}`, async (t) => {
    const load = () => loadConfig({ httpTlsCert: list }, {});
    t.throws(load, {
      name: "ConfigError",
      message: /^--http-tls-cert is .*: must be a file, or files separated by colons$/,
    });
  });
}

t.test("a certificate has the names that its DNS entries list", async (t) => {
  const { cert } = authority.issue("subject", undefined, ["A.example", "*.b.example", 'odd, DNS:c"d.example']);
  t.same(namesOf(cert), ["a.example", "*.b.example"]);
  t.same(namesOf(NAMELESS.cert), []);
});
