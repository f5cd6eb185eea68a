// Administrators choose names of files and targets over the API. These tests try to read other
// files, and to send a credential to other hosts.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import { parseGrpcTarget } from "../../src/address/address.js";
import { readServiceSecrets, type SecretOptions } from "../../src/process/service-secrets.js";
import { createAuthority } from "../http2/certificates.js";
import { temporaryFolder } from "../support/temporary.js";

const authority = createAuthority("authority");
const [own, other] = [authority.issue("own"), authority.issue("other")];
const outside = temporaryFolder(t);
const folder = join(outside, "credentials");
mkdirSync(folder);
const SECRET = "s3cr3t-0f-the-0perat0r";
const TARGETS = "shop.example\ndb.example:5000\n\n[::1]:9000\nunix:///run/shop.sock\n127.0.0.1\nlocalhost:9000\r\n";

/** Makes a credential with the hosts that may be shown it. */
function credential(name: string, content: string | Buffer = SECRET, targets = TARGETS): void {
  writeFileSync(join(folder, name), content);
  writeFileSync(join(folder, `${name}.targets`), targets);
}
const using = (name: string, header = ""): SecretOptions => ({ credential: { name, header }, tls: undefined });
const withTls = (tls: Partial<NonNullable<SecretOptions["tls"]>>): SecretOptions => ({
  credential: undefined,
  tls: { ca: "", cert: "", key: "", serverName: "", ...tls },
});
const read = (options: SecretOptions, target = "grpcs://shop.example:443", from: string | undefined = folder) =>
  readServiceSecrets(from, options, parseGrpcTarget(target));

credential("token", `${SECRET}\n`);
writeFileSync(join(outside, "passwd"), SECRET);
writeFileSync(join(outside, "passwd.targets"), TARGETS);
for (const [name, content] of Object.entries({
  "ca.pem": authority.cert,
  "own.pem": own.cert,
  "own.key": own.key,
  "other.key": other.key,
  "text.pem": "no certificate",
  "cut.pem": Buffer.concat([authority.cert, own.cert.subarray(0, 200)]),
  "encrypted.key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
}))
  writeFileSync(join(folder, name), content);

const shown: [what: string, options: SecretOptions, shown: readonly [string, string | Buffer]][] = [
  ["by default", using("token"), ["authorization", `Bearer ${SECRET}`]],
  ["in a header of its own", using("token", "x-api-key"), ["x-api-key", SECRET]],
  ["as bytes", using("token", "key-bin"), ["key-bin", Buffer.from(SECRET)]],
];
for (const [what, options, expected] of shown) {
  t.test(`a credential is shown ${what}, without the end of its line`, async (t) => {
    t.same(read(options).shown, expected);
  });
}

for (const target of [
  "grpcs://shop.example:443",
  "grpcs://SHOP.example:1",
  "grpcs://db.example:5000",
  "[::1]:9000",
  "unix:/run/shop.sock",
  "127.0.0.1:1",
  "localhost:9000",
]) {
  t.test(`a listed target may be shown it: ${target}`, async (t) => {
    t.match(read(using("token"), target).shown, ["authorization", /^Bearer/]);
  });
}

const unlisted = /token\.targets does not list \S+, so it is not shown the credential$/;
const plain = /the credential token is not sent to \S+ in plain text, which is no loopback address: write grpcs:/;
for (const [target, reason] of [
  ["grpcs://thief.example:443", unlisted],
  ["grpcs://shop.example.thief.example:443", unlisted],
  ["grpcs://db.example:5001", unlisted],
  ["grpcs://shop.example.:443", unlisted],
  ["[::1]:9001", unlisted],
  ["127.0.0.2:1", unlisted],
  ["unix:/run/thief.sock", unlisted],
  ["shop.example:443", plain],
  // Node would connect to 127.0.0.1. A name is not resolved, because its addresses may change.
  ["127.1:9000", plain],
  ["127.thief.example:9000", plain],
  ["2130706433:9000", plain],
  ["0.0.0.0:9000", plain],
  ["[::]:9000", plain],
  ["localhost.thief.example:9000", plain],
] as const) {
  t.test(`another target is not shown it: ${target}`, async (t) => {
    t.throws(() => read(using("token"), target), { name: "SecretFileError", message: reason });
  });
}

t.test("the name that TLS checks must be listed too", async (t) => {
  const named = (serverName: string) => ({
    ...withTls({ serverName }),
    ...using("token"),
    ...{ tls: withTls({ serverName }).tls },
  });
  t.match(read(named("db.example"), "grpcs://shop.example:5000").shown, ["authorization", SECRET]);
  t.throws(() => read(named("thief.example")), { message: unlisted });
});

symlinkSync("../passwd", join(folder, "link"));
credential("linked-targets");
renameSync(join(folder, "linked-targets.targets"), join(outside, "list"));
symlinkSync("../list", join(folder, "linked-targets.targets"));
writeFileSync(join(folder, "link.targets"), TARGETS);
writeFileSync(join(folder, "unshared"), SECRET);
mkdirSync(join(folder, "folder"));
writeFileSync(join(folder, "folder.targets"), TARGETS);
execFileSync("mkfifo", [join(folder, "fifo")]);
writeFileSync(join(folder, "fifo.targets"), TARGETS);
credential("large");
truncateSync(join(folder, "large"), 2 ** 30);
credential("many-targets");
truncateSync(join(folder, "many-targets.targets"), 2 ** 30);
credential("16k", "a".repeat(16 * 1024));
credential("16k-and-1", "a".repeat(16 * 1024 + 1));
credential("empty", "");
credential("newline", "\n");
credential("lines", `${SECRET}\n${SECRET}\n`);
credential("spaces", ` ${SECRET} `);
credential("injected", `${SECRET}\r\nx-portico-account: admin`);
credential("unicode", "schlüssel");
credential("bad-list", SECRET, "shop.example\nhttps://shop.example\n");
credential("any-host", SECRET, "*\n");

t.test("a credential may have 16 KiB", async (t) => {
  t.equal(read(using("16k")).shown?.[1].length, "Bearer ".length + 16 * 1024);
});

const refused: [why: string, name: string, reason: RegExp][] = [
  ["a path to the folder above", "../passwd", /is no name of a file$/],
  ["an absolute path", join(outside, "passwd"), /is no name of a file$/],
  ["a path in the folder", "./token", /is no name of a file$/],
  ["a path with a NUL", "token\0", /is no name of a file$/],
  ["the folder itself", ".", /is no name of a file$/],
  ["no name", "", /is no name of a file$/],
  ["a symbolic link", "link", /link is a symbolic link; put the file itself there$/],
  ["a list that is a symbolic link", "linked-targets", /linked-targets\.targets is a symbolic link/],
  ["a missing list", "unshared", /unshared\.targets does not exist$/],
  ["a missing file and list", "none", /none\.targets does not exist$/],
  ["a list as a credential", "token.targets", /token\.targets\.targets does not exist$/],
  ["a folder", "folder", /folder is no regular file$/],
  ["a FIFO", "fifo", /fifo is no regular file$/],
  ["a socket", "socket", /socket is no regular file$/],
  ["a file of 1 GiB", "large", /large is larger than 16 KiB$/],
  ["a list of 1 GiB", "many-targets", /many-targets\.targets is larger than 64 KiB$/],
  ["a file of more than 16 KiB", "16k-and-1", /is larger than 16 KiB$/],
  ["an empty file", "empty", /the file empty is no credential: it must have one line/],
  ["a file of one line end", "newline", /is no credential/],
  ["two lines", "lines", /is no credential/],
  ["spaces at the ends", "spaces", /is no credential/],
  ["further headers", "injected", /is no credential/],
  ["text that is not ASCII", "unicode", /is no credential/],
  ["a list with a URL", "bad-list", /bad-list\.targets: line 2 is not host, host:port or unix:\/path$/],
  ["a list of all hosts", "any-host", /any-host\.targets: line 1 is not host/],
];
t.test("what is no credential is refused with a reason, which has none of its content", async (t) => {
  const socket = createServer().listen(join(folder, "socket"));
  t.teardown(() => socket.close());
  writeFileSync(join(folder, "socket.targets"), TARGETS);
  for (const [why, name, reason] of refused) {
    try {
      read(using(name));
      t.fail(why);
    } catch (error) {
      t.match(error, { name: "SecretFileError", message: reason }, why);
      t.notMatch((error as Error).message, SECRET, why);
    }
  }
});

t.test("a file that this process may not read is refused", { skip: process.getuid?.() === 0 }, async (t) => {
  credential("private");
  chmodSync(join(folder, "private"), 0);
  t.throws(() => read(using("private")), { message: /private cannot be read: this process has no permission$/ });
});

t.test("without the folder no service has a credential or files for TLS", async (t) => {
  const reason = { message: /^PORTICO_CREDENTIALS is not set, so no service has a credential$/ };
  const target = parseGrpcTarget("grpcs://shop.example:443");
  t.throws(() => readServiceSecrets(undefined, using("token"), target), reason);
  t.throws(() => readServiceSecrets(undefined, withTls({ ca: "ca.pem" }), target), reason);
  t.equal(readServiceSecrets(undefined, withTls({ serverName: "own" }), target).tls?.servername, "own");
});

t.test("the files of TLS are for targets with TLS alone", async (t) => {
  const options = withTls({ ca: "ca.pem", cert: "own.pem", key: "own.key" });
  t.same(read(options).tls, { ca: authority.cert, cert: own.cert, key: own.key });
  t.same(read(options, "127.0.0.1:1"), { shown: undefined, tls: undefined });
});

for (const [why, tls, reason] of [
  ["no certificate", { ca: "text.pem" }, /^text\.pem has no PEM certificate$/],
  ["a key as a certificate", { ca: "own.key" }, /^own\.key has no PEM certificate$/],
  ["a certificate cut off", { ca: "cut.pem" }, /^cut\.pem has a certificate, 2 of 2, that cannot be read: /],
  [
    "an encrypted key",
    { cert: "own.pem", key: "encrypted.key" },
    /^encrypted\.key is an encrypted key, and there is no p/,
  ],
  ["a key of another certificate", { cert: "own.pem", key: "other.key" }, /^other\.key is no key for own\.pem: /],
  ["a certificate without a key", { cert: "own.pem" }, /cert and key belong together/],
  ["a missing file", { ca: "none.pem" }, /none\.pem does not exist$/],
  ["a link", { ca: "link" }, /link is a symbolic link/],
  ["a path", { ca: "../credentials/ca.pem" }, /is no name of a file$/],
] as const) {
  t.test(`TLS with ${why} is refused`, async (t) => {
    t.throws(() => read(withTls(tls)), { name: "SecretFileError", message: reason });
  });
}
