// TLS at the HTTP port: the protocols and versions that clients get, the clients that are rejected,
// and the replacement of a certificate while calls are made.
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { get } from "node:https";
import { connect as connectPlain } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { pino } from "pino";
import t, { type Test } from "tap";
import { WebSocket } from "ws";
import type { RequestHandler } from "../../../gateway/http/message.js";
import { type Certificates, followCertificates, HTTP_CERTIFICATES } from "../../../src/config/certificates.js";
import { createAuthority } from "../../http2/certificates.js";
import { freePort } from "../../support/ports.js";
import { until } from "../../support/until.js";
import { echo, type HttpPort, held, type Limits, open, response } from "./dial.js";

const authority = createAuthority("authority");
const own = authority.issue("localhost");
const { cert: ca } = authority;

const secure = (t: Test, handler: RequestHandler = echo, limits: Partial<Limits> = {}, host?: string) =>
  open(t, handler, { tls: own, ...limits }, host);

/** A handshake with the port. Rejects where it fails. */
async function shake(t: Test, { address }: HttpPort, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ port: address.port, host: "127.0.0.1", servername: "localhost", ca, ...options });
  t.teardown(() => socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

async function overHttp1({ address }: HttpPort, path: string): Promise<string> {
  const request = get({ port: address.port, host: "127.0.0.1", servername: "localhost", path, ca });
  const [response] = await once(request, "response");
  return text(response);
}

function session(t: Test, { address }: HttpPort): ClientHttp2Session {
  const opened = connectHttp2(`https://127.0.0.1:${address.port}`, { ca, servername: "localhost" });
  t.teardown(() => opened.destroy());
  return opened;
}

t.test("a client gets HTTP/2 or HTTP/1.1, as it requests", async (t) => {
  const port = await secure(t);
  t.equal(await overHttp1(port, "/one"), "/one 0");
  const client = session(t, port);
  t.equal(await text(client.request({ ":path": "/two" })), "/two 0");
  t.equal(client.alpnProtocol, "h2");
  for (const [ALPNProtocols, protocol] of [
    [["h2", "http/1.1"], "h2"],
    [["http/1.1"], "http/1.1"],
    [[], false],
  ] as const) {
    t.equal((await shake(t, port, { ALPNProtocols: [...ALPNProtocols] })).alpnProtocol, protocol);
  }
  await t.rejects(shake(t, port, { ALPNProtocols: ["other"] }), { code: /NO_APPLICATION_PROTOCOL/ });
});

t.test("a client that offers no protocol gets HTTP/1.1", async (t) => {
  const socket = await shake(t, await secure(t), {});
  socket.write("GET /p HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  t.match(await text(socket), /^HTTP\/1\.1 200 OK\r\n.*\/p 0$/s);
});

t.test("WebSockets are opened over TLS", async (t) => {
  const handler: RequestHandler = () => ({
    status: 101,
    headers: [],
    body: "",
    length: 0,
    session: { open: (socket) => void socket.send("hello"), onMessage() {}, onDrain() {} },
  });
  const { address } = await secure(t, handler);
  const client = new WebSocket(`wss://127.0.0.1:${address.port}`, { ca });
  t.teardown(() => client.terminate());
  t.equal(`${(await once(client, "message"))[0]}`, "hello");
});

t.test("versions of TLS before 1.2 are rejected", async (t) => {
  const port = await secure(t);
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    t.equal((await shake(t, port, { minVersion: version, maxVersion: version })).getProtocol(), version);
  }
  const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
  await t.rejects(shake(t, port, old), { code: /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/ });
});

t.test("a client that speaks plain HTTP gets a response that asks for https", async (t) => {
  const { address } = await secure(t);
  const socket = connectPlain(address.port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  t.match(await text(socket), /^HTTP\/1\.1 400 Bad Request\r\n.*use https/s);
});

const hasManyAddresses = process.platform === "linux" ? false : "127.0.0.2 is an address on Linux only";

t.test("one port of a client may have connections to several addresses", { skip: hasManyAddresses }, async (t) => {
  const { address } = await secure(t, echo, {}, "0.0.0.0");
  const from = { port: address.port, localAddress: "127.0.0.1", localPort: await freePort() };
  const [one, other] = ["127.0.0.1", "127.0.0.2"].map((host) => connectPlain({ ...from, host }));
  await Promise.all([one, other].map((socket) => once(socket!, "connect")));
  for (const socket of [one, other]) {
    const client = connect({ socket, servername: "localhost", ca });
    t.teardown(() => client.destroy());
    client.write("GET /p HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    t.match(await text(client), /^HTTP\/1\.1 200 OK\r\n/);
  }
});

t.test("a handshake that takes too long is ended", async (t) => {
  const { address } = await secure(t, echo, { headerTime: 100 });
  const socket = connectPlain(address.port, "127.0.0.1").resume();
  socket.on("error", () => {}); // A reset counts as an end.
  await once(socket, "close");
  t.pass();
});

t.test("a port that closes waits for requests, but not for handshakes", async (t) => {
  const { handler, finish, asked } = held();
  const port = await secure(t, handler);
  const request = overHttp1(port, "/");
  await asked;
  const waiting = connectPlain(port.address.port, "127.0.0.1").resume();
  waiting.on("error", () => {});
  const gone = once(waiting, "close");
  await once(waiting, "connect");
  const closed = port.close(60_000);
  await gone;
  finish();
  t.equal(await request, "finished");
  await closed;
});

t.test("no call fails while a certificate is replaced", async (t) => {
  const renewed = authority.issue("localhost");
  const folder = t.testdir({ "own.pem": own.cert, "own.key": own.key });
  const [cert, key] = [join(folder, "own.pem"), join(folder, "own.key")];
  const files = { httpTlsCert: [cert], httpTlsKey: [key] };
  const said: string[] = [];
  const log = pino({}, { write: (line) => void said.push(JSON.parse(line).msg) });
  const closing = new AbortController();
  t.teardown(() => closing.abort());
  const tls: Certificates = followCertificates(files, { log, signal: closing.signal }, HTTP_CERTIFICATES);
  const port = await secure(t, () => response("served"), { tls });
  const shown = async (): Promise<string> => (await shake(t, port, {})).getPeerX509Certificate()?.serialNumber ?? "";
  const first = await shown();

  let calls = 0;
  let running = true;
  const standing = session(t, port);
  const callAgainAndAgain = async (call: () => Promise<string>): Promise<void> => {
    for (; running; calls++) if ((await call()) !== "served") throw new Error("a call failed");
  };
  const load = Promise.all([
    callAgainAndAgain(() => text(standing.request({ ":path": "/" }))),
    callAgainAndAgain(() => overHttp1(port, "/")),
    callAgainAndAgain(async () => {
      const fresh = session(t, port);
      const body = await text(fresh.request({ ":path": "/" }));
      fresh.close();
      return body;
    }),
  ]);

  // In the order in which tools write the files. The first one is written in two halves.
  writeFileSync(cert, renewed.cert.subarray(0, renewed.cert.length / 2));
  await until(() => said.includes("the changed certificates are not used"));
  t.equal(await shown(), first, "a file that is half written changes nothing");
  said.length = 0;
  writeFileSync(cert, renewed.cert);
  await until(() => said.includes("the changed certificates are not used"));
  t.equal(await shown(), first, "nor does a certificate without its key");
  writeFileSync(key, renewed.key);
  await until(() => said.includes("the certificates were read again"));
  t.not(await shown(), first);

  const before = calls;
  await until(() => calls > before + 10);
  running = false;
  await load;
  t.ok(calls > 10, `${calls} calls`);
  t.notOk(standing.destroyed, "the connection that stood goes on");
});

t.test("with certificate authorities for clients", async (t) => {
  const clients = createAuthority("clients");
  const [client, stranger] = [clients.issue("client"), createAuthority("strangers").issue("client")];
  const mutual = { ...own, ca: clients.cert };
  /** The response to a request on a new connection. Rejects where the connection is rejected. */
  const request = async (port: HttpPort, shown: ConnectionOptions): Promise<string> => {
    const socket = await shake(t, port, shown);
    socket.write("GET /p HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const response = await text(socket);
    // For a certificate of another authority Node sends no alert: it only closes the connection.
    if (response === "") throw new Error("the connection was closed");
    return response;
  };

  t.test("only clients with a certificate of one of them are served, in each version of TLS", async (t) => {
    let requests = 0;
    const port = await secure(t, () => response(`${++requests}`), { tls: mutual });
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const options = { minVersion: version, maxVersion: version } as const;
      t.match(await request(port, { ...options, ...client }), /^HTTP\/1\.1 200 OK\r\n/);
      await t.rejects(request(port, options), "no certificate");
      await t.rejects(request(port, { ...options, ...stranger }), "a certificate of another authority");
    }
    t.equal(requests, 2, "no request of the others reached the handler");
  });

  t.test("they are replaced when the files change, also for resumed sessions", async (t) => {
    const folder = t.testdir({ "own.pem": own.cert, "own.key": own.key, "clients.pem": clients.cert });
    const named = (name: string) => join(folder, name);
    const files = {
      httpTlsCert: [named("own.pem")],
      httpTlsKey: [named("own.key")],
      httpTlsClientCa: named("clients.pem"),
    };
    const said: string[] = [];
    const log = pino({}, { write: (line) => void said.push(JSON.parse(line).msg) });
    const closing = new AbortController();
    t.teardown(() => closing.abort());
    const tls = followCertificates(files, { log, signal: closing.signal }, HTTP_CERTIFICATES);
    const port = await secure(t, echo, { tls });
    const first = await shake(t, port, client);
    const ticket = once(first, "session");
    first.write("GET /p HTTP/1.1\r\nHost: x\r\n\r\n");
    const [session] = await ticket;
    const resumed = await shake(t, port, { ...client, session });
    t.ok(resumed.isSessionReused());

    const next = createAuthority("next");
    writeFileSync(files.httpTlsClientCa, next.cert);
    await until(() => said.includes("the certificates were read again"));
    await t.rejects(request(port, { ...client, session }));
    t.match(await request(port, next.issue("client")), /200 OK/);
  });
  t.end();
});
