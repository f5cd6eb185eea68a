// Several certificates at the HTTP port: a client gets the one with the name that it asks for, over
// HTTP/1.1 and HTTP/2, also after one of them was renewed, and where it must show one of its own.
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { pino } from "pino";
import t, { type Test } from "tap";
import { type Certificates, followCertificates, HTTP_CERTIFICATES } from "../../../src/config/certificates.js";
import { createAuthority } from "../../http2/certificates.js";
import { until } from "../../support/until.js";
import { echo, type HttpPort, open } from "./dial.js";

const authority = createAuthority("authority");
const clients = createAuthority("clients");
const first = authority.issue("first", undefined, ["one.example", "localhost"]);
const second = authority.issue("second", undefined, ["*.two.example", "two.example"]);
const { key: otherKey } = authority.issue("other");
const { cert: ca } = authority;

/** Certificates in files that may be replaced, and what is logged of them. */
function files(t: Test, clientCa?: Buffer) {
  const contents = { "1.pem": first.cert, "1.key": first.key, "2.pem": second.cert, "2.key": second.key };
  const folder = t.testdir({ ...contents, "clients.pem": clientCa ?? "" });
  const at = (name: string): string => join(folder, name);
  const said: { readonly msg: string; readonly reason?: string }[] = [];
  const log = pino({}, { write: (line) => void said.push(JSON.parse(line)) });
  const closing = new AbortController();
  t.teardown(() => closing.abort());
  const config = {
    httpTlsCert: [at("1.pem"), at("2.pem")],
    httpTlsKey: [at("1.key"), at("2.key")],
    httpTlsClientCa: clientCa && at("clients.pem"),
  };
  const tls = followCertificates(config, { log, signal: closing.signal }, HTTP_CERTIFICATES);
  return { tls, said, write: (name: string, text: Buffer) => writeFileSync(at(name), text) };
}

const opened = (t: Test, tls: Certificates): Promise<HttpPort> => open(t, echo, { tls });

async function shake(t: Test, { address }: HttpPort, options: ConnectionOptions): Promise<TLSSocket> {
  const accept = { ca, checkServerIdentity: () => undefined };
  const socket = connect({ port: address.port, host: "127.0.0.1", ...accept, ...options });
  t.teardown(() => socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

/** The subject of the certificate that a client gets. */
async function subject(t: Test, port: HttpPort, options: ConnectionOptions): Promise<string> {
  const socket = await shake(t, port, options);
  const { subject, serialNumber } = socket.getPeerCertificate();
  serials.set(`${subject.CN}`, serialNumber);
  socket.destroy();
  return `${subject.CN}`;
}
const serials = new Map<string, string>();

const ASKED: readonly [what: string, servername: string | undefined, subject: string][] = [
  ["a name of the first", "one.example", "first"],
  ["a name of the second", "two.example", "second"],
  ["a wildcard of the second", "any.two.example", "second"],
  ["another case", "Any.TWO.example", "second"],
  ["a label more than the wildcard", "a.b.two.example", "first"],
  ["a name of none", "three.example", "first"],
  ["no name", undefined, "first"],
];

t.test("the name that a client asks for selects the certificate", async (t) => {
  const port = await opened(t, files(t).tls);
  for (const [what, servername, expected] of ASKED) {
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const options = {
        minVersion: version,
        maxVersion: version,
        ALPNProtocols: ["h2"],
        ...(servername && { servername }),
      };
      t.equal(await subject(t, port, options), expected, `${what}, ${version}`);
    }
  }
});

t.test("HTTP/1.1 and HTTP/2 are served for each name, and a session is resumed", async (t) => {
  const port = await opened(t, files(t).tls);
  const url = `https://127.0.0.1:${port.address.port}`;
  for (const servername of ["one.example", "a.two.example"]) {
    const socket = await shake(t, port, { servername });
    const session = once(socket, "session");
    socket.write(`GET /p HTTP/1.1\r\nHost: ${servername}\r\nConnection: close\r\n\r\n`);
    t.match(await text(socket), /^HTTP\/1\.1 200 OK\r\n.*\/p 0$/s);
    const again = await shake(t, port, { servername, session: (await session)[0] });
    t.equal(again.isSessionReused(), true);
    const client = connectHttp2(url, { ca, servername });
    t.teardown(() => client.destroy());
    t.equal(await text(client.request({ ":path": "/two", ":authority": servername })), "/two 0");
  }
});

t.test("a connection serves every host, whatever its certificate", async (t) => {
  const port = await opened(t, files(t).tls);
  const client = connectHttp2(`https://127.0.0.1:${port.address.port}`, { ca, servername: "one.example" });
  t.teardown(() => client.destroy());
  t.equal(await text(client.request({ ":path": "/p", ":authority": "two.example" })), "/p 0");
});

t.test("a renewed pair is used, and a broken one leaves its old pair and the others in use", async (t) => {
  const { tls, said, write } = files(t);
  const port = await opened(t, tls);
  const asked = (servername: string) => subject(t, port, { servername });
  t.same([await asked("one.example"), await asked("two.example")], ["first", "second"]);

  write("2.key", otherKey);
  await until(() =>
    said.some(({ reason }) => /2\.key \(PORTICO_HTTP_TLS_KEY\) is no key for .*2\.pem/.test(reason ?? "")),
  );
  const renewed = authority.issue("first renewed", undefined, ["one.example", "new.example"]);
  write("1.pem", renewed.cert);
  write("1.key", renewed.key);
  await until(async () => (await asked("new.example")) === "first renewed");
  t.same([await asked("one.example"), await asked("two.example")], ["first renewed", "second"]);

  const nameless = authority.issue("nameless", undefined, []);
  write("2.pem", nameless.cert);
  write("2.key", nameless.key);
  await until(() => said.some(({ reason }) => /2\.pem \(PORTICO_HTTP_TLS_CERT\) has no DNS name/.test(reason ?? "")));
  t.equal(await asked("two.example"), "second");

  const other = authority.issue("second renewed", undefined, ["four.example"]);
  write("2.pem", other.cert);
  write("2.key", other.key);
  await until(async () => (await asked("four.example")) === "second renewed");
  t.equal(await asked("two.example"), "first renewed", "its old name is gone");
});

t.test("clients must show a certificate, whichever name they ask for", async (t) => {
  const port = await opened(t, files(t, clients.cert).tls);
  const stranger = authority.issue("stranger");
  const member = clients.issue("member");
  for (const servername of ["one.example", "two.example", "three.example"]) {
    const options = { servername, maxVersion: "TLSv1.2" as const };
    await t.rejects(shake(t, port, options), "without one");
    await t.rejects(shake(t, port, { ...options, ...stranger }), "of another authority");
    t.ok((await shake(t, port, { ...options, ...member })).authorized);
  }
});
