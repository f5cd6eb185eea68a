// Several gateways on one HTTP port. Each is a complete gateway with a lease of its own. One that
// dies is replaced. They stop together, whatever ends the process that manages them.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import t, { type Test } from "tap";
import { parseAddress } from "../../../src/address/address.js";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { administrator, call, type Portico, refused, start } from "../../support/process.js";

const PATIENCE = 20_000;

const data = await installation(t.testdir());
const server = await start(["server"], { PORTICO_DATA: data });
t.teardown(() => server.stop());
const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: server.address("gRPC") };
const gateways = await start(["gateway", "--workers", "2"], joined);
t.teardown(() => gateways.stop());
const http = gateways.address("HTTP");

/** A connection that stays with the worker that accepted it. */
class Connection {
  readonly socket: Socket;
  #received = "";

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("utf8").on("data", (text) => {
      this.#received += text;
    });
    socket.on("error", () => {}); // The worker was killed.
  }

  static async open(url: string): Promise<Connection> {
    const socket = connect(parseAddress(new URL(url).host));
    await once(socket, "connect");
    return new Connection(socket);
  }

  /**
   * Sends a text, and waits for a matching response. Returns it with everything that came before.
   */
  async ask(text: string, response: RegExp): Promise<string> {
    this.#received = "";
    this.socket.write(text);
    while (!response.test(this.#received)) await once(this.socket, "data", { signal: AbortSignal.timeout(PATIENCE) });
    return this.#received;
  }

  async hello(): Promise<number> {
    const response = await this.ask("GET /helloworld/call?name=Ada HTTP/1.1\r\nHost: localhost\r\n\r\n", /\}$/);
    const status = Number(response.split(" ")[1]);
    // On a busy machine a guard may have no lease for a moment.
    return status === 503 ? this.hello() : status;
  }
}

/** The number of calls to the service that a worker has handled. */
async function answered(metrics: string): Promise<number> {
  const text = await (await fetch(metrics)).text();
  const counts = text.matchAll(/^portico_requests_total\{.*endpoint="helloworld:.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/**
 * One connection to each worker. The call counters of the workers show which worker has a
 * connection.
 */
async function oneToEach(url: string, workers: readonly string[]): Promise<Connection[]> {
  const found = new Map<number, Connection>();
  for (const late = Date.now() + PATIENCE; found.size < workers.length; ) {
    if (Date.now() > late) throw new Error(`only ${found.size} of ${workers.length} workers take connections`);
    const connection = await Connection.open(url);
    const before = await Promise.all(workers.map(answered));
    t.equal(await connection.hello(), 200);
    const after = await Promise.all(workers.map(answered));
    const worker = after.findIndex((count, index) => count > before[index]!);
    if (found.has(worker)) connection.socket.destroy();
    else found.set(worker, connection);
  }
  return [...found.values()];
}

/** Waits for a line of the log. */
async function logged(portico: Portico, line: RegExp): Promise<RegExpExecArray> {
  for (;;) {
    const found = line.exec(portico.errors());
    if (found !== null) return found;
    await once(portico.child.stderr!, "data", { signal: AbortSignal.timeout(PATIENCE) });
  }
}

/** Waits until no process listens any more. */
async function closed(url: string): Promise<void> {
  for (const late = Date.now() + PATIENCE; Date.now() < late; ) {
    const socket = connect(parseAddress(new URL(url).host));
    const failed = await once(socket, "connect").catch((error: NodeJS.ErrnoException) => error.code);
    socket.destroy();
    if (failed === "ECONNREFUSED") return;
  }
  throw new Error(`${url} still takes connections`);
}

function processOf(portico: Portico, worker: number): number {
  return Number(new RegExp(`Worker ${worker} .*process (\\d+)`).exec(portico.output())?.[1]);
}

/** Waits until all started processes have ended too, because they write to the same pipes. */
async function ended(portico: Portico, signal: NodeJS.Signals): Promise<number | null> {
  portico.child.kill(signal);
  const [code] = await once(portico.child, "close", { signal: AbortSignal.timeout(PATIENCE) });
  return code;
}

await t.test("one banner shows the port and the workers, and each worker accepts calls", async (t) => {
  const workers = [gateways.address("Worker 1"), gateways.address("Worker 2")].map((url) => url.replace(",", ""));
  t.not(workers[0], workers[1]);
  t.equal(gateways.output().match(/Ready/g)?.length, 1);
  for (const { socket } of await oneToEach(http, workers)) socket.destroy();
});

await t.test("every worker refuses calls as soon as the deletion of a rule returns", async (t) => {
  const workers = [gateways.address("Worker 1"), gateways.address("Worker 2")].map((url) => url.replace(",", ""));
  const connections = await oneToEach(http, workers);
  const admin = await administrator(http, data);
  const rule = { id: "default", scope: "<public>", access: "GRANTED", resource: "*:*:*" };
  for (let round = 0; round < 20; round++) {
    await call(`${http}/v1/auth/Rules/Delete`, { id: "default" }, admin);
    t.same(await Promise.all(connections.map((connection) => connection.hello())), [401, 401]);
    await call(`${http}/v1/auth/Rules/Create`, { rule }, admin);
    t.same(await Promise.all(connections.map((connection) => connection.hello())), [200, 200]);
  }
  for (const { socket } of connections) socket.destroy();
});

await t.test("a worker that dies is replaced, each time after a longer pause, while the other serves", async (t) => {
  let doomed = processOf(gateways, 1);
  const other = gateways.address("Worker 2").replace(",", "");
  for (const pause of [100, 200]) {
    process.kill(doomed, "SIGKILL");
    await logged(gateways, new RegExp(`"worker":${doomed},.*"SIGKILL","pauseMs":${pause}`));
    t.equal((await call(`${http}/helloworld/call?name=Ada`)).status, 200);
    const [, pid, metrics] = await logged(
      gateways,
      new RegExp(`"worker":(\\d+),"metrics":"(\\S+?)",.*place of ${doomed}`),
    );
    for (const { socket } of await oneToEach(http, [`http://${metrics}/metrics`, other])) socket.destroy();
    doomed = Number(pid);
  }
});

await t.test("SIGTERM: calls in progress at each worker are completed, and no process is left", async (t) => {
  const portico = await start(["gateway", "--workers", "2"], joined);
  t.teardown(() => portico.stop());
  const workers = [portico.address("Worker 1"), portico.address("Worker 2")].map((url) => url.replace(",", ""));
  const connections = await oneToEach(portico.address("HTTP"), workers);
  const body = '{"name":"Ada"}';
  const lines = ["POST /helloworld/call HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
  const head = `${lines.join("\r\n")}\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`;
  await Promise.all(connections.map((connection) => connection.ask(head, /^HTTP\/1.1 100 /)));
  const exit = ended(portico, "SIGTERM");
  await closed(portico.address("HTTP"));
  for (const connection of connections) t.match(await connection.ask(body, /\}$/), /^HTTP\/1.1 200 .*Hello Ada/s);
  t.equal(await exit, 0);
});

await t.test("kill -9 of the primary ends the workers too", async (t) => {
  const portico = await start(["gateway", "--workers", "2"], joined);
  t.equal(await ended(portico, "SIGKILL"), null);
  await closed(portico.address("HTTP"));
});

/** A port in use. The port below it is free. */
async function takenPort(t: Test): Promise<number> {
  for (;;) {
    const port = (await freePort()) + 1;
    const taken = createServer().listen(port, "127.0.0.1");
    t.teardown(() => taken.close());
    const isFree = await once(taken, "listening").catch(() => undefined);
    if (isFree !== undefined) return port;
  }
}

await t.test("if a worker cannot start, one line says why, and no worker is left", async (t) => {
  const port = await takenPort(t);
  const env = { ...joined, PORTICO_HTTP: "127.0.0.1:0", PORTICO_ADMIN: `127.0.0.1:${port - 1}` };
  const { code, output } = await refused(["gateway", "--workers=2"], { ...env, PORTICO_LOG_LEVEL: "warn" });
  t.equal(code, 1);
  t.match(output, new RegExp(`127\\.0\\.0\\.1:${port} is in use.*PORTICO_ADMIN`));
  t.equal(output.trim().split("\n").length, 1, output);
});

await t.test("other roles reject --workers, and say what to do instead", async (t) => {
  const { code, output } = await refused(["server"], { PORTICO_DATA: data, PORTICO_WORKERS: "2" });
  t.equal(code, 2);
  t.match(output, /PORTICO_WORKERS is 2: .*portico gateway --workers 2 .*PORTICO_HTTP/);
});
