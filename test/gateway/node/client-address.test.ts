// The address that the port takes for the client: the other end of the connection, or the client
// that a trusted proxy names. A proxy names it by a PROXY header for the connection, or by headers
// for each request. Handlers here respond with the address of the client.
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { pino } from "pino";
import t, { type Test } from "tap";
import { WebSocket } from "ws";
import type { RequestHandler } from "../../../gateway/http/message.js";
import { TrustedProxies } from "../../../src/address/client-address.js";
import { MemoryBudget } from "../../../src/memory/memory-budget.js";
import { createAuthority } from "../../http2/certificates.js";
import { inTime, until } from "../../support/until.js";
import { dial, type HttpPort, type Limits, open, post, response } from "./dial.js";
import { binary, Command, Family, ipv4, ipv6 } from "./proxy-headers.js";

const LOOPBACK = TrustedProxies.parse("127.0.0.1");
const OTHERS = TrustedProxies.parse("192.0.2.1");
const NAMED = "PROXY TCP4 192.0.2.7 10.0.0.1 4711 8080\r\n";
/**
 * Bytes of a part of a body. With a budget of a million bytes, one address may store eight parts,
 * and no connection stores too much.
 */
const PART = 57_000;
const authority = createAuthority("authority");
const tls = authority.issue("localhost");

const whose: RequestHandler = ({ remoteAddress, error }) =>
  response(error === undefined ? `<${remoteAddress}>` : error.message);
const get = (headers = ""): string => `GET / HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`;
const FORWARDED = "X-Forwarded-For: 192.0.2.9\r\n";

interface Proxied {
  readonly port: HttpPort;
  /** The messages in the log. */
  readonly said: string[];
}

async function proxied(t: Test, limits: Partial<Limits> = {}, handler = whose): Promise<Proxied> {
  const said: string[] = [];
  const log = pino({}, { write: (line) => void said.push(JSON.parse(line).msg) });
  const defaults = { trustedProxies: LOOPBACK, proxyProtocol: "accept", log } as const;
  return { port: await open(t, handler, { ...defaults, ...limits }), said };
}

/** Sends bytes. Resolves with the response when the port has closed the connection. */
async function exchange(port: HttpPort, ...chunks: readonly (string | Buffer)[]): Promise<string> {
  const client = await dial(port);
  for (const chunk of chunks) client.socket.write(chunk);
  return client.rest();
}

t.test("headers of a trusted proxy name the client of each request of a connection", async (t) => {
  const client = await dial(await open(t, whose, { trustedProxies: LOOPBACK }));
  const asks = (headers: string): string => `GET / HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
  client.socket.write(asks("X-Forwarded-For: 192.0.2.7\r\n"));
  await client.until(/<192\.0\.2\.7>/);
  client.socket.write(asks('Forwarded: for="[2001:db8::1]:4711"\r\n'));
  await client.until(/<2001:db8::1>/);
  client.socket.write(asks(""));
  t.match(await client.until(/<127\.0\.0\.1>/), /<192\.0\.2\.7>.*<2001:db8::1>.*<127\.0\.0\.1>/s);
});

t.test("headers of other senders name no client", async (t) => {
  for (const trustedProxies of [undefined, OTHERS, TrustedProxies.parse("none")]) {
    t.match(await exchange(await open(t, whose, { trustedProxies }), get(FORWARDED)), /<127\.0\.0\.1>/);
  }
});

t.test("each stream of an HTTP/2 connection has its own client", async (t) => {
  const { address } = await open(t, whose, { trustedProxies: LOOPBACK });
  const session = connectHttp2(`http://127.0.0.1:${address.port}`);
  t.teardown(() => session.destroy());
  const asked = ["192.0.2.7", "192.0.2.8"].map((client) => text(session.request({ "x-forwarded-for": client })));
  t.same(await Promise.all(asked), ["<192.0.2.7>", "<192.0.2.8>"]);
});

t.test("the memory of a WebSocket counts for the client that a header names", async (t) => {
  const opened: string[] = [];
  const budget = new MemoryBudget();
  const openMemory = budget.open.bind(budget);
  budget.open = (address) => {
    opened.push(address);
    return openMemory(address);
  };
  const handler: RequestHandler = ({ remoteAddress }) => ({
    ...response(""),
    status: 101,
    headers: [],
    session: { open: (socket) => void socket.send(remoteAddress), onMessage() {}, onDrain() {} },
  });
  const { address } = await open(t, handler, { trustedProxies: LOOPBACK, budget });
  const client = new WebSocket(`ws://127.0.0.1:${address.port}`, { headers: { "X-Forwarded-For": "192.0.2.7" } });
  t.teardown(() => client.terminate());
  t.equal(`${(await once(client, "message"))[0]}`, "192.0.2.7");
  t.equal(opened.at(-1), "192.0.2.7");
});

const HEADERS: [what: string, header: string | Buffer, address: string][] = [
  ["version 1", NAMED, "192.0.2.7"],
  ["version 1, of IPv6", "PROXY TCP6 2001:db8::1 ::1 4711 8080\r\n", "2001:db8::1"],
  ["version 1 without a client", "PROXY UNKNOWN\r\n", "127.0.0.1"],
  ["version 2", binary({ body: [...ipv4("192.0.2.7"), 0x04, 0, 1, 0] }), "192.0.2.7"],
  [
    "version 2, of IPv6",
    binary({ family: Family.IPV6, body: ipv6("20010db8000000000000000000000001") }),
    "2001:db8::1",
  ],
  ["version 2 of the proxy itself", binary({ command: Command.LOCAL, body: ipv4("192.0.2.7") }), "127.0.0.1"],
];

for (const [what, header, address] of HEADERS) {
  t.test(`a PROXY header of ${what} names the client of the connection`, async (t) => {
    const { port, said } = await proxied(t, { proxyProtocol: "require" });
    t.match(await exchange(port, header, get()), `<${address}>`);
    // Headers of a client that is unnamed or not trusted do not count.
    t.match(await exchange(port, header, get(FORWARDED)), `<${address}>`);
    t.same(said, []);
  });
}

t.test("a PROXY header is read byte by byte, with the request after it", async (t) => {
  const { port } = await proxied(t);
  for (const header of [Buffer.from(NAMED), binary({ body: ipv4("192.0.2.7") })]) {
    const client = await dial(port);
    for (const byte of Buffer.concat([header, Buffer.from(get())])) {
      await new Promise<void>((resolve) => client.socket.write(Buffer.of(byte), () => resolve()));
    }
    t.match(await client.rest(), /<192\.0\.2\.7>/);
  }
});

t.test("headers count after a PROXY header that names a trusted proxy", async (t) => {
  const { port } = await proxied(t, { trustedProxies: TrustedProxies.parse("127.0.0.1,10.0.0.0/8") });
  const header = "PROXY TCP4 10.0.0.5 10.0.0.1 4711 8080\r\n";
  t.match(await exchange(port, header, get()), /<10\.0\.0\.5>/);
  t.match(await exchange(port, header, get(FORWARDED)), /<192\.0\.2\.9>/);
});

t.test("where a PROXY header is accepted, a connection may have none", async (t) => {
  const { port, said } = await proxied(t);
  t.match(await exchange(port, get()), /<127\.0\.0\.1>/);
  t.match(await exchange(port, get(FORWARDED)), /<192\.0\.2\.9>/);
  const { port: foreign } = await proxied(t, { trustedProxies: OTHERS });
  t.match(await exchange(foreign, get(FORWARDED)), /<127\.0\.0\.1>/);
  t.same(said, []);
});

t.test("HTTP/2 without TLS follows a PROXY header", async (t) => {
  const { port } = await proxied(t, { proxyProtocol: "require" });
  const session = connectHttp2("http://127.0.0.1", { createConnection: () => announced(t, port) });
  t.teardown(() => session.destroy());
  t.equal(await text(session.request({ ":path": "/" })), "<192.0.2.7>");
});

t.test("a WebSocket follows a PROXY header", async (t) => {
  const handler: RequestHandler = ({ remoteAddress }) => ({
    ...response(""),
    status: 101,
    headers: [],
    session: { open: (socket) => void socket.send(remoteAddress), onMessage() {}, onDrain() {} },
  });
  const { port } = await proxied(t, { proxyProtocol: "require" }, handler);
  const client = new WebSocket("ws://127.0.0.1", { createConnection: () => announced(t, port) });
  t.teardown(() => client.terminate());
  t.equal(`${(await once(client, "message"))[0]}`, "192.0.2.7");
});

t.test("TLS follows a PROXY header, with either version of HTTP", async (t) => {
  const { port, said } = await proxied(t, { proxyProtocol: "require", tls });
  for (const ALPNProtocols of [["http/1.1"], []]) {
    const socket = connectTls({
      socket: announced(t, port),
      ca: authority.cert,
      servername: "localhost",
      ALPNProtocols,
    });
    t.teardown(() => socket.destroy());
    socket.write(get());
    t.match(await text(socket), /<192\.0\.2\.7>/);
  }
  const session = connectHttp2("https://localhost", {
    createConnection: () =>
      connectTls({ socket: announced(t, port), ca: authority.cert, servername: "localhost", ALPNProtocols: ["h2"] }),
  });
  t.teardown(() => session.destroy());
  t.equal(await text(session.request({ ":path": "/" })), "<192.0.2.7>");
  t.same(said, []);
});

t.test("clients whose TLS handshakes begin at the same time are told apart", async (t) => {
  const { port } = await proxied(t, { proxyProtocol: "require", tls });
  const clients = ["192.0.2.7", "192.0.2.8", "192.0.2.9"];
  const sockets = clients.map((client) => announced(t, port, `PROXY TCP4 ${client} 10.0.0.1 4711 8080\r\n`));
  const responses = sockets.map((socket) => {
    const secure = connectTls({ socket, ca: authority.cert, servername: "localhost" });
    secure.write(get());
    return text(secure);
  });
  const named = (await Promise.all(responses)).map((response) => /<(.*)>/.exec(response)?.[1]);
  t.same(named, clients);
});

t.test("TLS follows a PROXY header in the same chunk", async (t) => {
  const { port } = await proxied(t, { proxyProtocol: "require", tls });
  const socket = connect(port.address.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  const write = socket.write.bind(socket);
  let isFirst = true;
  // TLS over a stream that is not a TCP socket writes its bytes through that stream, so the header
  // can be added.
  const through = new (await import("node:stream")).Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      write(isFirst ? Buffer.concat([Buffer.from(NAMED), chunk]) : chunk, () => done());
      isFirst = false;
    },
  });
  socket.on("data", (chunk) => through.push(chunk)).on("end", () => through.push(null));
  const secure = connectTls({ socket: through, ca: authority.cert, servername: "localhost" });
  t.teardown(() => secure.destroy());
  secure.write(get());
  t.match(await text(secure), /<192\.0\.2\.7>/);
});

/** A connection that has named its client by a PROXY header. */
function announced(t: Test, { address }: HttpPort, header = NAMED): Socket {
  const socket = connect(address.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.write(header);
  return socket;
}

const REFUSED: [what: string, limits: Partial<Limits>, bytes: string | Buffer, said: RegExp][] = [
  ["a malformed header", {}, "PROXY TCP4 here there\r\n", /PROXY header is malformed/],
  ["a header that is too long", {}, `PROXY UNKNOWN ${"f".repeat(100)}\r\n`, /PROXY header is longer than 107 bytes/],
  ["a request where a header is required", { proxyProtocol: "require" }, get(), /has no PROXY header/],
  [
    "a header of an untrusted sender",
    { trustedProxies: OTHERS },
    NAMED,
    /a PROXY header, but is not from an address in/,
  ],
  [
    "the beginning of a header of an untrusted sender",
    { trustedProxies: OTHERS },
    binary({ body: [] }).subarray(0, 12),
    /is not from an address in PORTICO_TRUSTED_PROXIES/,
  ],
  [
    "an untrusted sender where a header is required",
    { trustedProxies: OTHERS, proxyProtocol: "require" },
    get(),
    /is not from an address in PORTICO_TRUSTED_PROXIES, which PORTICO_PROXY_PROTOCOL requires/,
  ],
  ["half a header that is too slow", { headerTime: 100 }, NAMED.slice(0, 20), /did not arrive within 100 ms/],
  ["a binary header that is too slow", { headerTime: 100 }, binary({ body: [1, 2] }).subarray(0, 17), /within 100 ms/],
  ["a client that sends nothing", { headerTime: 100, proxyProtocol: "require" }, "", /did not arrive within 100 ms/],
];

for (const [what, limits, bytes, message] of REFUSED) {
  t.test(`${what} closes the connection, and the log says why`, async (t) => {
    const { port, said } = await proxied(t, limits);
    t.equal(await exchange(port, bytes), "");
    t.equal(said.length, 1);
    t.match(said[0], /^a connection to the HTTP port was closed: /);
    t.match(said[0], message);
  });
}

t.test("a connection that ends within its PROXY header is closed", async (t) => {
  const { port, said } = await proxied(t);
  const client = await dial(port);
  client.socket.end("PROXY TCP4");
  t.equal(await client.rest(), "");
  t.match(said, [/it ended before its PROXY header did/]);
});

t.test("the log has no line for a connection that only checks whether the port is open", async (t) => {
  const { port, said } = await proxied(t);
  const client = await dial(port);
  client.socket.end();
  t.equal(await client.rest(), "");
  t.same(said, []);
});

t.test("a port that closes does not wait for PROXY headers", async (t) => {
  const { port } = await proxied(t, { headerTime: 300_000 });
  const client = await dial(port);
  client.socket.write("PROXY ");
  const closed = port.close(300_000);
  t.equal(await inTime(client.rest(), () => "the connection is closed", 20_000), "");
  await closed;
});

t.test("memory for bytes that a client sends through a proxy counts for the client", async (t) => {
  for (const isHttp2 of [false, true]) {
    const budget = new MemoryBudget({ limit: 1_000_000, trustedProxies: LOOPBACK });
    const handler: RequestHandler = async (request) => {
      try {
        await request.body();
        return response("received");
      } catch (error) {
        return response("refused", (error as { status: number }).status);
      }
    };
    const port = await open(t, handler, { trustedProxies: LOOPBACK, budget });
    /**
     * Sends a part of a body on several connections of the proxy. Returns which parts were accepted
     * in the end.
     */
    const send = async (clients: readonly string[]): Promise<boolean[]> => {
      const uploads: { isAnswered(): boolean; end(): void }[] = [];
      for (const client of clients) {
        const before = budget.reserved;
        uploads.push(await (isHttp2 ? upload2 : upload1)(port, client));
        const isDealtWith = () => budget.reserved >= before + PART || uploads.some(({ isAnswered }) => isAnswered());
        await until(isDealtWith, { what: () => "the part is dealt with" });
      }
      const taken = uploads.map(({ isAnswered }) => !isAnswered());
      for (const { end } of uploads) end();
      await until(() => budget.reserved === 0 && budget.addresses === 0, { what: () => "all is released" });
      return taken;
    };
    const [most, taken] = [Array(7).fill("192.0.2.7"), Array(7).fill(true)];
    // A client's oldest body is given up for its youngest, and never a body of another client.
    t.same(
      await send(["192.0.2.8", "192.0.2.7", ...most, "192.0.2.7"]),
      [true, false, ...taken, true],
      `HTTP/${isHttp2 ? 2 : 1}`,
    );
    t.same(await send(["192.0.2.7", ...most, "192.0.2.8"]), [true, ...taken, true]);
  }
});

/** Begins an upload through its own connection. A header names the client. */
async function upload1(port: HttpPort, client: string) {
  const { socket, until } = await dial(port);
  let isAnswered = false;
  void until(/HTTP/).then(
    () => {
      isAnswered = true;
    },
    () => {},
  );
  socket.write(post(200_000).replace("\r\n\r\n", `\r\nX-Forwarded-For: ${client}\r\n\r\n${"x".repeat(PART)}`));
  return { isAnswered: () => isAnswered, end: () => void socket.destroy() };
}

async function upload2({ address }: HttpPort, client: string) {
  const session = connectHttp2(`http://127.0.0.1:${address.port}`);
  const stream = session.request({ ":method": "POST", "x-forwarded-for": client });
  stream.on("error", () => {});
  let isAnswered = false;
  stream.on("response", () => {
    isAnswered = true;
  });
  stream.write("x".repeat(PART));
  return { isAnswered: () => isAnswered, end: () => session.destroy() };
}

t.test("the memory of a connection counts for the client that a PROXY header names", async (t) => {
  const budget = new MemoryBudget();
  const opened: string[] = [];
  const openMemory = budget.open.bind(budget);
  budget.open = (address) => {
    opened.push(address);
    return openMemory(address);
  };
  const { port } = await proxied(t, { budget }, async (request) => {
    await request.body();
    return response("received");
  });
  const client = await dial(port);
  client.socket.write(`${NAMED}${post(100_000)}${"x".repeat(50_000)}`);
  await until(() => opened.length > 0, { what: () => "memory is reserved" });
  t.same(opened, ["192.0.2.7"]);
  client.socket.write("x".repeat(50_000));
  await client.until(/received/);
});
