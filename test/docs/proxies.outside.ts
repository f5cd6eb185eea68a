// Behind each proxy of docs/proxies.md, with the configuration of the page: JSON over HTTP/1.1 and
// HTTP/2, gRPC, WebSockets, the client's address, and restarts of gateways that no call notices.
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { json, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import t, { type Test } from "tap";
import { WebSocket } from "ws";
import { CallRequest, CallResponse, StreamRequest } from "../../src/gen/helloworld/helloworld.js";
import { installation } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { type Portico, start } from "../support/process.js";
import { socketPath } from "../support/temporary.js";
import { inTime, until } from "../support/until.js";
import { authority, type DocumentedProxy, HAPROXY_TLS, HOST, ON_SOCKETS, PROXIES, startDocumented } from "./proxies.js";

/** Where clients connect from. Proxies connect to the gateways from 127.0.0.1. */
const CLIENT = "127.0.0.2";
const FORGED = "203.0.113.66";
const HELLO = { message: "Hello Ada", msg: "Hello Ada" };
/** Callers at once while the gateways restart. */
const CALLERS = 4;
const OVERLOADED = /more requests than it can process in time/;
/** As by default. A drain ends when no call is left. */
const DRAIN = { PORTICO_DRAIN_NOTICE: "5s", PORTICO_DRAIN: "10s" };

const data = await installation(t.testdir());
const server = await start(["server"], {
  PORTICO_DATA: data,
  PORTICO_LEASE: "60s",
  PORTICO_TRUSTED_PROXIES: "127.0.0.1",
});
t.teardown(() => server.stop());

/** A gateway at a port, and how to restart it as a supervisor does. */
class Gateway {
  readonly #env: Record<string, string>;
  readonly address: string;
  #process: Portico | undefined;

  constructor(address: string, more: Record<string, string>) {
    this.address = address;
    const proxied = { PORTICO_HTTP_HOSTS: HOST, PORTICO_TRUSTED_PROXIES: "127.0.0.1" };
    this.#env = {
      ...{ PORTICO_DATA: data, PORTICO_AUTHORITY: server.address("gRPC"), PORTICO_HTTP: this.address },
      ...{ ...proxied, ...DRAIN, ...more },
    };
  }

  async start(): Promise<void> {
    this.#process = await start(["gateway"], this.#env);
  }

  /** The end of its log. */
  get log(): string {
    return this.#process?.errors().slice(-1_000) ?? "";
  }

  stop(): Promise<number | null> | undefined {
    return this.#process?.stop();
  }

  /** How many requests it has responded to since its start. */
  async served(): Promise<number> {
    const metrics = await (await fetch(this.#process?.address("Metrics") ?? "")).text();
    return [...metrics.matchAll(/^portico_requests_total\{.*\} (\d+)$/gm)].reduce(
      (sum, [, one]) => sum + Number(one),
      0,
    );
  }
}

/** Two gateways, which run until the test ends. */
async function gateways(
  t: Test,
  more: Record<string, string> = {},
  addressOf = async () => `127.0.0.1:${await freePort()}`,
): Promise<[Gateway, Gateway]> {
  const both: [Gateway, Gateway] = [new Gateway(await addressOf(), more), new Gateway(await addressOf(), more)];
  t.teardown(() => Promise.all(both.map((one) => one.stop())));
  await Promise.all(both.map((one) => one.start()));
  return both;
}

const tls = { ca: authority.cert, servername: HOST, localAddress: CLIENT };

/** Sends a request over HTTP/1.1: a POST if it has a body. */
function ask(port: number, path: string, body: object | undefined, more: { agent?: Agent; headers?: object } = {}) {
  return new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const headers = { host: HOST, "content-type": "application/json", ...more.headers };
    const options = {
      ...tls,
      host: "127.0.0.1",
      port,
      path,
      method: body ? "POST" : "GET",
      headers,
      agent: more.agent ?? false,
    };
    const sent = request({ ...options, timeout: 20_000 }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
    });
    sent.once("error", reject).once("timeout", () => sent.destroy(new Error("no response in 20 s")));
    sent.end(body && JSON.stringify(body));
  });
}

async function getByHttp2(port: number): Promise<unknown> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ...tls, ALPNProtocols: ["h2"] });
  try {
    const stream = session.request({ ":path": "/helloworld/call?name=Ada", ":authority": HOST });
    return await inTime(json(stream), "a response over HTTP/2");
  } finally {
    session.destroy();
  }
}

function grpcClient(t: Test, port: number): Client {
  const client = new Client(`127.0.0.1:${port}`, credentials.createSsl(authority.cert), {
    "grpc.ssl_target_name_override": HOST,
    "grpc.default_authority": HOST,
  });
  t.teardown(() => client.close());
  return client;
}

const encode = (value: CallRequest): Buffer => Buffer.from(CallRequest.encode(value).finish());
const decode = (bytes: Buffer): CallResponse => CallResponse.decode(bytes);

/** @returns the message, or the code and the message of the error */
function callByGrpc(client: Client, method = "Call"): Promise<string> {
  const deadline = Date.now() + 20_000;
  return new Promise((resolve) => {
    const done = (error: ServiceError | null, response?: CallResponse) =>
      resolve(error === null ? (response?.message ?? "") : error.message);
    const path = `/helloworld.Helloworld/${method}`;
    client.makeUnaryRequest(path, encode, decode, { name: "Ada" }, new Metadata(), { deadline }, done);
  });
}

async function streamByGrpc(client: Client): Promise<string[]> {
  const asBytes = (value: StreamRequest) => Buffer.from(StreamRequest.encode(value).finish());
  const path = "/helloworld.Helloworld/Stream";
  const messages: string[] = [];
  const stream = client.makeServerStreamRequest(path, asBytes, decode, { name: "Ada", messages: 3n });
  for await (const { message } of stream) messages.push(message);
  return messages;
}

/** @returns the first message, or the status of the refusal */
async function openWebSocket(port: number, page: string): Promise<unknown> {
  const socket = new WebSocket(`wss://127.0.0.1:${port}/helloworld/stream`, {
    ...tls,
    headers: { host: HOST },
    origin: page,
  });
  socket.on("open", () => socket.send('{"name":"Ada","messages":"1"}'));
  const refused = once(socket, "unexpected-response").then(([, response]) => response.statusCode);
  const first = once(socket, "message").then(([data]) => JSON.parse(String(data)));
  for (const one of [first, refused]) one.catch(() => undefined);
  try {
    return await inTime(Promise.race([first, refused]), "a WebSocket opens or is refused");
  } finally {
    socket.on("error", () => undefined).terminate();
  }
}

/**
 * The status of an error that comes before the request was read. Caddy then resets the stream at
 * once, which grpc-js takes for an end without a status in 2 of 100 calls (docs/proxies.md).
 */
async function errorByGrpc(client: Client): Promise<string> {
  for (let tries = 1; ; tries++) {
    const status = String(await callByGrpc(client, "None"));
    if (!status.includes("RST_STREAM with code 0") || tries === 5) return status;
  }
}

async function tryCalls(t: Test, port: number): Promise<void> {
  const json = await ask(port, "/helloworld/call", { name: "Ada" });
  t.same([json.status, JSON.parse(json.body)], [200, HELLO], "JSON over HTTP/1.1");
  t.same(await getByHttp2(port), HELLO, "JSON over HTTP/2");
  const client = grpcClient(t, port);
  t.equal(await callByGrpc(client), "Hello Ada", "gRPC");
  t.same(await streamByGrpc(client), Array(3).fill("Hello Ada"), "gRPC that streams");
  t.match(await errorByGrpc(client), /^12 UNIMPLEMENTED: /, "an error of gRPC");
  t.same(await openWebSocket(port, `https://${HOST}`), HELLO, "a WebSocket of a page of the host");
  t.equal(await openWebSocket(port, "https://evil.example"), 403, "a WebSocket of another page");
}

/** The addresses from which wrong passwords came, as the authority logged them. */
async function tryAddress(t: Test, port: number): Promise<void> {
  const from = server.errors().length;
  const forged = { "x-forwarded-for": FORGED, forwarded: `for=${FORGED}` };
  // Another account for each proxy: several wrong passwords for one are throttled.
  const account = `nobody-${port}`;
  const login = await ask(port, "/auth/login", { account, password: "wrong" }, { headers: forged });
  t.equal(login.status, 401, login.body);
  const logged = () =>
    server
      .errors()
      .slice(from)
      .match(/\{.*"a login failed".*\}/)?.[0];
  await until(() => logged() !== undefined, { what: () => "the failed login is logged" });
  t.equal(JSON.parse(logged() ?? "").address, CLIENT);
}

/**
 * Calls until it is stopped: POST over HTTP/1.1, and gRPC, or only GET. `outcomes` counts each
 * kind.
 */
function callers(t: Test, port: number, { onlyGet }: { onlyGet: boolean }) {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  const client = grpcClient(t, port);
  const outcomes = new Map<string, number>();
  let stopping = false;
  const byJson = async () => {
    const body = onlyGet ? undefined : { name: "Ada" };
    const response = await ask(port, onlyGet ? "/helloworld/call?name=Ada" : "/helloworld/call", body, { agent });
    return response.status === 200 ? "200" : `${response.status} ${response.body}`;
  };
  const loop = async (call: () => Promise<string>): Promise<void> => {
    while (!stopping) {
      const outcome = await call().catch(String);
      // On a machine that is busy with other tests, a gateway may refuse calls. They are not lost.
      if (!OVERLOADED.test(outcome)) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      await sleep(20); // The subject is the restart, not the load.
    }
  };
  const calls = Array.from({ length: CALLERS }, (_, index) =>
    onlyGet || index % 2 === 0 ? byJson : () => callByGrpc(client),
  );
  const loops = calls.map(loop);
  return {
    outcomes,
    async stop() {
      stopping = true;
      await Promise.all(loops);
      agent.destroy();
    },
  };
}

async function tryRestarts(t: Test, port: number, both: readonly Gateway[], onlyGet: boolean): Promise<void> {
  const load = callers(t, port, { onlyGet });
  for (const gateway of both) {
    t.equal(await gateway.stop(), 0);
    await gateway.start();
    const isCalled = async () => {
      await sleep(100);
      return (await gateway.served()) > 5;
    };
    // The operator goes on when the proxy has found it again.
    await until(isCalled, { what: () => "the proxy calls the gateway again" });
  }
  await load.stop();
  t.same(
    [...load.outcomes.keys()].sort(),
    onlyGet ? ["200"] : ["200", "Hello Ada"],
    JSON.stringify([...load.outcomes]),
  );
}

async function tryProxy(t: Test, proxy: DocumentedProxy, more: Record<string, string> = {}): Promise<void> {
  const program = proxy.program();
  if (program === undefined) return void t.comment(`there is no ${proxy.name} here`);
  const both = await gateways(t, more);
  const port = await startReady(t, proxy, program, both);
  await tryCalls(t, port);
  await tryAddress(t, port);
  await tryRestarts(t, port, both, !proxy.asksReadiness);
}

/** Runs a proxy, and waits until it has found its gateways. @returns its port */
async function startReady(t: Test, proxy: DocumentedProxy, program: string, both: [Gateway, Gateway]): Promise<number> {
  const port = await startDocumented(t, proxy, program, [both[0].address, both[1].address]);
  let last = "";
  const isReady = async () => {
    await sleep(100);
    const outcome = ask(port, "/helloworld/call", { name: "Ada" }).then(({ status, body }) => `${status} ${body}`);
    last = await outcome.catch(String);
    return last.startsWith("200 ");
  };
  await until(isReady, {
    what: () => `${proxy.name} has found the gateways; the last outcome was ${last}; ${both.map((one) => one.log)}`,
  });
  return port;
}

for (const proxy of PROXIES) t.test(proxy.name, (t) => tryProxy(t, proxy));

t.test(HAPROXY_TLS.name, async (t) => {
  const folder = t.testdir();
  const own = authority.issue(HOST);
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  writeFileSync(cert, own.cert);
  writeFileSync(key, own.key);
  await t.test("calls and restarts", (t) =>
    tryProxy(t, HAPROXY_TLS, { PORTICO_HTTP_TLS_CERT: cert, PORTICO_HTTP_TLS_KEY: key }),
  );
});

t.test("haproxy and nginx call gateways at Unix sockets", async (t) => {
  const more = { PORTICO_TRUSTED_PROXIES: "unix", PORTICO_DRAIN_NOTICE: "0s" };
  const both = await gateways(t, more, async () => `unix:${socketPath(t)}`);
  for (const proxy of ON_SOCKETS) {
    await t.test(proxy.name, async (t) => {
      const program = proxy.program();
      if (program === undefined) return void t.comment(`there is no ${proxy.name} here`);
      const port = await startReady(t, proxy, program, both);
      await tryCalls(t, port);
      await tryAddress(t, port);
    });
  }
});
