// The lifecycle of a request in docs/how-it-works.md agrees with the code. Its table has the
// statuses that the comments of the stages list. For each status there is a request here that ends
// in that stage.
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import t from "tap";
import { Pages } from "../../gateway/built-in/pages.js";
import { Routes } from "../../gateway/catalog/routes.js";
import { createHandler } from "../../gateway/handler.js";
import { readHeaders } from "../../gateway/http/headers.js";
import type { GatewayRequest } from "../../gateway/http/message.js";
import { Hosts } from "../../gateway/stages/cors.js";
import type { Guard } from "../../src/call/admission.js";
import { loadConfig } from "../../src/config/config.js";
import { Code } from "../../src/errors.js";
import { createLog } from "../../src/log.js";
import { Metrics } from "../../src/metrics.js";
import { rawService } from "../rpc/raw-service.js";
import { ScriptedLimits } from "../rpc/scripted-limits.js";
import { ask } from "./deployment.js";
import { createRule, dial, open, type Scene, scene } from "./dialects/json/streams/client.js";

/** The function of each stage. Its comment lists the statuses. */
const STAGES: readonly [stage: string, file: string, name: string][] = [
  ["port", "headers", "checkWellFormed"],
  ["cors", "cors", "checkCors"],
  ["route", "route", "findRoute"],
  ["headers", "headers", "checkHeaders"],
  ["credentials", "credentials", "readCredentials"],
  ["admit", "admit", "admit"],
  ["call", "call", "call"],
  ["respond", "respond", "respond"],
];

interface End {
  readonly status: number | undefined;
  /** The Detail of an error. */
  readonly detail?: string | undefined;
}

interface Case {
  readonly stage: string;
  readonly status: number;
  readonly detail?: RegExp;
  readonly run: (it: Scene) => Promise<End>;
}

const HOST = ["Host", "portico.test"];
const FOREIGN = ["Sec-Fetch-Site", "cross-site"];
const JSON_TYPE = ["Content-Type", "application/json"];
const GET = "GET /helloworld HTTP/1.1\r\nHost: x\r\n";
const POST = "POST /helloworld HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";

type Asked = Parameters<typeof ask>[1];

/** Calls the handler as a function. */
const call =
  (request: Asked) =>
  async ({ handler }: Scene): Promise<End> =>
    toEnd(await ask(handler, request));

function toEnd({ status, body }: { readonly status: number; readonly body: string }): End {
  return { status, detail: body.startsWith('{"Id"') ? JSON.parse(body).Detail : undefined };
}

/** Sends bytes over a socket. */
const send =
  (bytes: string) =>
  async ({ port }: Scene): Promise<End> => {
    const socket = connect(port, "127.0.0.1").setEncoding("utf8");
    socket.write(bytes);
    let text = "";
    for await (const chunk of socket) {
      text += chunk;
      if (/^HTTP.*\r\n\r\n\{.*\}$/s.test(text)) break;
    }
    const [head = "", body = ""] = text.split("\r\n\r\n");
    return toEnd({ status: Number(/^HTTP\/1.1 (\d+)/.exec(head)?.[1]), body });
  };

/** Sends bytes, and closes the connection when `when` resolves. The log has the status. */
const leave =
  (bytes: string, when: (it: Scene) => Promise<unknown>) =>
  async (it: Scene): Promise<End> => {
    const socket = connect(it.port, "127.0.0.1");
    socket.write(bytes);
    await when(it);
    socket.destroy();
    return { status: await loggedStatus(it) };
  };

async function loggedStatus({ logged }: Scene): Promise<number> {
  while (!logged.some((line) => "status" in line)) await new Promise(setImmediate);
  return logged.find((line) => "status" in line)?.status as number;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

/** A handler whose catalog has not arrived. */
async function notArrived(): Promise<End> {
  const handler = createHandler({
    catalog: { routes: new Routes(), ready: false },
    guard: {} as Scene["guard"],
    own: [],
    hosts: await Hosts.of({ host: "127.0.0.1", port: 0 }, "*"),
    config: loadConfig({}, {}),
    log: createLog("silent", { write() {} }),
    metrics: new Metrics(),
  });
  return toEnd(await ask(handler, { target: "/helloworld" }));
}

/** A large response, for which there is no memory. */
async function noMemory({ handler }: Scene): Promise<End> {
  const text = "a".repeat(20_000);
  const rawHeaders = [...HOST, ...JSON_TYPE, "Content-Length", "1"];
  const request: GatewayRequest = {
    method: "POST",
    target: "/helloworld",
    rawHeaders,
    headers: readHeaders(rawHeaders),
    remoteAddress: "192.0.2.1",
    body: () => t.fail("it has arrived") as never,
    arrivedBody: () => [Buffer.from(JSON.stringify({ name: text }))],
    chunks: () => t.fail() as never,
    tryReserveResponse: () => false,
    tryReserveBody: () => false,
    onAbort() {},
  };
  const { status, body } = await handler(request);
  return toEnd({ status, body: String(body) });
}

async function webSocket(it: Scene): Promise<End> {
  const { socket, closed } = await dial(it, "/feed/chat");
  socket.send("");
  await closed;
  return { status: 101 };
}

/** The response to a client that reconnects to a stream which it has received to the end. */
async function complete(it: Scene): Promise<End> {
  const headers = { accept: "text/event-stream", "last-event-id": "complete" };
  return { status: (await open(it, "/feed/count", { headers })).status };
}

async function pageInCache({ handler }: Scene): Promise<End> {
  const { headers } = await ask(handler, { target: "/explore" });
  return toEnd(await ask(handler, { target: "/explore", headers: ["If-None-Match", headers.etag as string] }));
}

/** A call of the administrator, where a rule denies everyone. */
const denied = (it: Scene): Promise<End> =>
  call({ target: "/probe/closed/call", headers: ["Authorization", `Bearer ${it.admin}`] })(it);

const CASES: readonly Case[] = [
  { stage: "port", status: 400, detail: /Host is missing/, run: send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n") },
  { stage: "port", status: 405, detail: /CONNECT/, run: send("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n") },
  { stage: "port", status: 408, detail: /took too long/, run: send(GET) },
  {
    stage: "port",
    status: 417,
    detail: /100-continue/,
    run: send(`${GET}Connection: close\r\nExpect: wonders\r\n\r\n`),
  },
  {
    stage: "port",
    status: 431,
    detail: /At most 100 headers/,
    run: call({ target: "/", headers: Array.from({ length: 202 }, () => "a") }),
  },
  { stage: "port", status: 505, detail: /version of HTTP/, run: send("GET / HTTP/2.0\r\nHost: x\r\n\r\n") },

  {
    stage: "cors",
    status: 204,
    run: call({
      method: "OPTIONS",
      target: "/nowhere",
      headers: ["Origin", "https://portico.test", "Access-Control-Request-Method", "POST"],
    }),
  },
  { stage: "cors", status: 403, detail: /Pages of other origins/, run: call({ target: "/", headers: FOREIGN }) },
  {
    stage: "cors",
    status: 421,
    detail: /host "bad.example"/,
    run: send("GET / HTTP/1.1\r\nHost: bad.example\r\nConnection: close\r\n\r\n"),
  },

  { stage: "route", status: 200, run: call({ target: "/readyz" }) },
  { stage: "route", status: 204, run: call({ method: "OPTIONS", target: "/helloworld" }) },
  { stage: "route", status: 302, run: call({ target: "/" }) },
  { stage: "route", status: 304, run: pageInCache },
  { stage: "route", status: 400, detail: /percent-encoding/, run: call({ target: "/%" }) },
  {
    stage: "route",
    status: 403,
    detail: /Pages of other origins/,
    run: call({ target: "/helloworld", headers: [...FOREIGN, "Sec-Fetch-Mode", "navigate"] }),
  },
  { stage: "route", status: 404, detail: /No endpoint at \/nowhere/, run: call({ target: "/nowhere" }) },
  { stage: "route", status: 405, detail: /method must be/, run: call({ method: "PUT", target: "/helloworld" }) },
  {
    stage: "route",
    status: 415,
    run: call({
      method: "POST",
      target: "/helloworld.Helloworld/Call",
      headers: ["Content-Type", "text/plain"],
      body: "a",
    }),
  },
  { stage: "route", status: 503, detail: /has not arrived/, run: notArrived },

  {
    stage: "headers",
    status: 400,
    detail: /Grpc-Timeout/,
    run: call({ target: "/helloworld", headers: ["Grpc-Timeout", "soon"] }),
  },
  {
    stage: "headers",
    status: 415,
    detail: /must be JSON/,
    run: call({ method: "POST", target: "/helloworld", headers: ["Content-Type", "text/plain"], body: "a" }),
  },
  {
    stage: "headers",
    status: 426,
    detail: /must be 13/,
    run: send(
      "GET /feed/chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
        "Sec-WebSocket-Version: 12\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    ),
  },

  {
    stage: "credentials",
    status: 400,
    detail: /Platform-Namespace/,
    run: call({ target: "/helloworld", headers: ["Platform-Namespace", "Not One"] }),
  },

  {
    stage: "admit",
    status: 400,
    detail: /not well-formed/,
    run: send(`${POST}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`),
  },
  { stage: "admit", status: 401, detail: /Unauthorized/, run: call({ target: "/v1/feed/chat", method: "POST" }) },
  { stage: "admit", status: 403, detail: /Forbidden/, run: denied },
  { stage: "admit", status: 408, detail: /took too long/, run: send(`${POST}Content-Length: 14\r\n\r\n{`) },
  { stage: "admit", status: 413, detail: /not be larger/, run: send(`${POST}Content-Length: 9999999\r\n\r\n`) },
  { stage: "admit", status: 429, detail: /Limit ci allows/, run: call({ target: "/probe/tell" }) },
  {
    stage: "admit",
    status: 499,
    run: leave(`${POST}Content-Length: 14\r\n\r\n{`, ({ decided }) => until(() => decided.length > 0)),
  },

  { stage: "call", status: 101, run: webSocket },
  { stage: "call", status: 204, run: complete },
  {
    stage: "call",
    status: 400,
    detail: /no such parameter/,
    run: call({ target: "/helloworld?nam=Ada" }),
  },
  { stage: "call", status: 426, detail: /open a WebSocket/, run: call({ target: "/feed/chat" }) },
  {
    stage: "call",
    status: 499,
    run: leave("GET /probe/hang HTTP/1.1\r\nHost: x\r\n\r\n", ({ dispatched }) => until(() => dispatched.length > 0)),
  },
  { stage: "call", status: 502, detail: /responded with too much/, run: call({ target: "/raw/one" }) },
  { stage: "call", status: 503, detail: /cannot be reached/, run: call({ target: "/gone" }) },
  {
    stage: "call",
    status: 504,
    detail: /Deadline/,
    run: call({ target: "/probe/hang", headers: ["Grpc-Timeout", "10m"] }),
  },
  {
    stage: "call",
    status: 409, // Any error of the service.
    detail: /as told/,
    run: call({
      method: "POST",
      target: "/probe/fail",
      headers: JSON_TYPE,
      body: JSON.stringify({ code: Code.ALREADY_EXISTS, message: "as told" }),
    }),
  },

  { stage: "respond", status: 200, run: call({ target: "/helloworld?name=Ada" }) },
  { stage: "respond", status: 502, detail: /a valid probe.Fields/, run: call({ target: "/probe/break" }) },
  { stage: "respond", status: 503, detail: /Too much is waiting/, run: noMemory },

  // The last case: the guard decides nothing after it.
  {
    stage: "admit",
    status: 503,
    detail: /no decision/,
    async run(it) {
      await it.guard.close();
      return call({ target: "/helloworld" })(it);
    },
  },
];

/** Statuses in the comment of a stage's function. */
function statusesInComment(file: string, name: string): number[] {
  const source = readFileSync(`gateway/stages/${file}.ts`, "utf8");
  const [, comment = ""] =
    new RegExp(`/\\*\\*((?:(?!\\*/).)*)\\*/\\nexport (?:async )?function ${name}\\(`, "s").exec(source) ?? [];
  return Array.from(comment.matchAll(/^ \* - (\d{3}) /gm), ([, status]) => Number(status));
}

/** Statuses of a stage in the table of docs/how-it-works.md. */
function statusesInDocs(stage: string): number[] {
  const [, lifecycle = ""] =
    /<!-- lifecycle -->(.*)<!-- end of lifecycle -->/s.exec(readFileSync("docs/how-it-works.md", "utf8")) ?? [];
  const [, cell = ""] = new RegExp(`^\\| ${stage} \\|[^|]*\\|([^|]*)\\|$`, "m").exec(lifecycle) ?? [];
  return Array.from(cell.matchAll(/\d{3}/g), ([status]) => Number(status));
}

t.test("the handler calls the stages in the order of the table", async (t) => {
  const source = readFileSync("gateway/handler.ts", "utf8");
  // The last call of each stage, because a stage that has the reply calls the last stage at once.
  const calls = STAGES.map(([, , name]) => [...source.matchAll(new RegExp(`\\W${name}\\(\\s*(?:request|\\{)`, "g"))]);
  const places = calls.map((found) => found.at(-1)?.index ?? -1);
  t.notOk(places.includes(-1));
  t.same(
    places,
    [...places].sort((a, b) => a - b),
  );
});

for (const [stage, file, name] of STAGES) {
  t.test(`${stage}: the table, the comment and the requests of this test name the same statuses`, async (t) => {
    const documented = statusesInDocs(stage);
    t.ok(documented.length > 0);
    t.same(statusesInComment(file, name), documented);
    const tried = CASES.filter((row) => row.stage === stage && row.status !== 409).map(({ status }) => status);
    t.same(
      tried.sort((a, b) => a - b),
      documented,
    );
  });
}

t.test("each request ends in the stage of the table", async (t) => {
  const folder = t.testdir({
    "index.html": "page",
    "index.html.br": "",
    "index.html.gz": "",
    "files.json": "{}",
    assets: {},
  });
  const tooLarge = rawService({ one: () => Buffer.alloc(4 * 2 ** 20 + 1) });
  const flags = { headerTime: "200ms", bodyTime: "200ms" };
  const limits = new ScriptedLimits();
  limits.reset("refuse");
  const count: Guard["count"] = (admission, call) =>
    admission.endpoint.name === "probe:Probe.Tell" ? limits.count(admission, call) : undefined;
  const it = await scene(t, { flags, own: [new Pages({ folder })], services: [tooLarge], count });
  const everyone = { scope: "<public>", access: "DENIED", priority: 10 };
  await createRule(it, { id: "closed", ...everyone, resource: "service:probe:closed.*" });
  for (const { stage, status, detail, run } of CASES) {
    await t.test(`${stage} ends a request with ${status}`, async (t) => {
      const { decided, dispatched, logged } = it;
      decided.length = dispatched.length = logged.length = 0;
      const end = await run(it);
      t.equal(end.status, status);
      if (detail !== undefined) t.match(end.detail, detail);
      const order = STAGES.findIndex(([name]) => name === stage);
      const admitAt = STAGES.findIndex(([name]) => name === "admit");
      t.equal(decided.length > 0, order >= admitAt, "whether the guard was asked");
      if (order <= admitAt) t.same(dispatched, [], "no service was called");
      if (stage === "respond") t.equal(dispatched.length, 1, "the service was called");
    });
  }
});
