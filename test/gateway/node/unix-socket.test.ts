// A port that is a Unix socket: who can connect, which files are replaced, and what counts as the
// client's address. Handlers respond with the address of the client.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { basename, dirname } from "node:path";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import t, { type Test } from "tap";
import type { RequestHandler } from "../../../gateway/http/message.js";
import { listen } from "../../../gateway/node/listen.js";
import { findDeadSocket, removeDeadSocket } from "../../../gateway/node/unix-socket.js";
import { TrustedProxies } from "../../../src/address/client-address.js";
import { socketPath } from "../../support/temporary.js";
import { config, dial, held, type Limits, open, response } from "./dial.js";

const whose: RequestHandler = ({ remoteAddress }) => response(`<${remoteAddress}>`);
const get = (headers = ""): string => `GET / HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`;
const FORWARDED = "X-Forwarded-For: 192.0.2.9\r\n";
const NAMED = "PROXY TCP4 192.0.2.7 10.0.0.1 4711 8080\r\n";

async function openAt(t: Test, path: string, limits: Partial<Limits> = {}, handler = whose) {
  const port = await listen(handler, { path }, { ...config, ...limits });
  t.teardown(() => port.close(0));
  return port;
}

/** Sends text. Resolves with the response when the port has closed the connection. */
async function exchange(path: string, request: string): Promise<string> {
  const socket = connect(path);
  socket.write(request);
  return text(socket);
}

/** Leaves a socket at the path, as a process does that is killed. */
async function leaveDead(path: string): Promise<void> {
  const script = 'require("node:net").createServer().listen(process.argv[1], () => console.log("listening"))';
  const child = spawn(process.execPath, ["--eval", script, path], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "exit");
}

t.test("HTTP/1.1 and HTTP/2 are served, to the user and the group only", async (t) => {
  const path = socketPath(t);
  const before = process.umask(0o022);
  t.teardown(() => process.umask(before));
  const port = await openAt(t, path);
  t.same(port.address, { host: path, port: 0 });
  t.equal(lstatSync(path).mode & 0o777, 0o660);
  t.equal(process.umask(), 0o022, "other files have their usual modes");
  t.match(await exchange(path, get()), /^HTTP\/1\.1 200 OK\r\n.*<unix>$/s);
  const client = connectHttp2("http://localhost", { createConnection: () => connect(path) });
  t.teardown(() => client.destroy());
  t.equal(await text(client.request({ ":path": "/" })), "<unix>");
});

t.test("a port that closes removes its file at once, and waits for requests", async (t) => {
  const path = socketPath(t);
  const { handler, finish, asked } = held();
  const port = await openAt(t, path, {}, handler);
  const request = exchange(path, get());
  await asked;
  const closed = port.close(60_000);
  t.notOk(existsSync(path));
  await openAt(t, path);
  t.match(await exchange(path, get()), /<unix>$/, "another process can listen there already");
  finish();
  t.match(await request, /finished$/);
  await closed;
  t.ok(existsSync(path), "its file stays");
});

t.test("a port whose file was removed leaves the file of another server there", async (t) => {
  const path = socketPath(t);
  const port = await openAt(t, path);
  unlinkSync(path);
  await openAt(t, path);
  await port.close(0);
  t.match(await exchange(path, get()), /<unix>$/);
  t.same(readdirSync(dirname(path)), [basename(path)]);
});

t.test("the socket of a dead process is replaced", async (t) => {
  const path = socketPath(t);
  await leaveDead(path);
  t.ok(lstatSync(path).isSocket());
  await openAt(t, path);
  t.match(await exchange(path, get()), /<unix>$/);
});

const REFUSED: Record<string, [prepare: (t: Test, path: string) => unknown, message: RegExp]> = {
  "a socket on which a process listens": [
    (t, path) => openAt(t, path),
    /^EADDRINUSE: a process listens on the socket$/,
  ],
  "a file": [(_, path) => writeFileSync(path, "kept"), /^there is a file that is no socket$/],
  "a folder": [(_, path) => mkdirSync(path), /^there is a file that is no socket$/],
  "a link to a file": [
    (_, path) => {
      writeFileSync(`${path}.file`, "kept");
      symlinkSync(`${path}.file`, path);
    },
    /^there is a file that is no socket$/,
  ],
  "a link to nothing": [(_, path) => symlinkSync(`${path}.none`, path), /EADDRINUSE/],
};

for (const [what, [prepare, message]] of Object.entries(REFUSED)) {
  t.test(`${what} is not replaced`, async (t) => {
    const path = socketPath(t);
    await prepare(t, path);
    const { ino } = lstatSync(path);
    await t.rejects(listen(whose, { path }, config), { message });
    t.equal(lstatSync(path).ino, ino);
  });
}

t.test("a folder that does not exist is named", async (t) => {
  const path = `${socketPath(t)}/none/socket`;
  await t.rejects(listen(whose, { path }, config), { message: `there is no folder ${dirname(path)}` });
});

t.test("a socket that has taken the place of a dead one is not removed", async (t) => {
  const path = socketPath(t);
  await leaveDead(path);
  const dead = await findDeadSocket(path);
  await openAt(t, path);
  removeDeadSocket(dead);
  t.ok(statSync(path).isSocket());
  t.match(await exchange(path, get()), /<unix>$/);
});

const CLIENTS: readonly [what: string, proxies: string, request: string, client: string][] = [
  ["headers of a peer that is not trusted", "127.0.0.1", get(FORWARDED), "unix"],
  ["headers of a trusted peer", "unix", get(FORWARDED), "192.0.2.9"],
  ["a trusted peer that names no client", "unix", get(), "unix"],
  ["a trusted peer that names none that can be read", "unix", get("Forwarded: for=unknown\r\n"), "unix"],
  [
    "an address that is forged to the left of the client",
    "unix",
    get("X-Forwarded-For: 1.1.1.1, 192.0.2.9\r\n"),
    "192.0.2.9",
  ],
  ["a chain of trusted proxies", "unix, 10.0.0.0/8", get("X-Forwarded-For: 192.0.2.9, 10.0.0.7\r\n"), "192.0.2.9"],
  ["the word unix as an address", "unix", get("X-Forwarded-For: 192.0.2.9, unix\r\n"), "unix"],
  ["a PROXY header of a trusted peer", "unix", `${NAMED}${get(FORWARDED)}`, "192.0.2.7"],
  ["a PROXY header that names no client", "unix", `PROXY UNKNOWN\r\n${get(FORWARDED)}`, "unix"],
];

for (const [what, proxies, request, client] of CLIENTS) {
  t.test(`the client's address: ${what}`, async (t) => {
    const path = socketPath(t);
    const log = pino({ level: "silent" });
    await openAt(t, path, { trustedProxies: TrustedProxies.parse(proxies), proxyProtocol: "accept", log });
    t.match(await exchange(path, request), new RegExp(`<${client}>$`));
  });
}

t.test("a PROXY header of a peer that is not trusted closes the connection", async (t) => {
  const path = socketPath(t);
  const said: string[] = [];
  const log = pino({}, { write: (line) => void said.push(JSON.parse(line).msg) });
  await openAt(t, path, { trustedProxies: TrustedProxies.parse("127.0.0.1"), proxyProtocol: "accept", log });
  t.equal(await exchange(path, `${NAMED}${get()}`).catch(() => ""), "");
  t.match(said, [/has a PROXY header, but is not from an address in PORTICO_TRUSTED_PROXIES/]);
});

t.test("trust in peers of the socket is none in clients of a TCP port", async (t) => {
  const client = await dial(await open(t, whose, { trustedProxies: TrustedProxies.parse("unix") }));
  client.socket.write(get(FORWARDED));
  t.match(await client.rest(), /<127\.0\.0\.1>$/);
});
