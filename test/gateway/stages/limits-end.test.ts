// However a request ends, the limits that count it are told once that it has ended.
import { once } from "node:events";
import t, { type Test } from "tap";
import { WebSocket } from "ws";
import { ScriptedLimits } from "../../rpc/scripted-limits.js";
import { HTTP_VERSIONS, httpClient, type Open } from "../../support/http-client.js";
import { until } from "../../support/until.js";
import { type Scene, scene } from "../dialects/json/streams/client.js";

interface Way {
  readonly title: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON body; undefined for a body that never comes to its end. */
  readonly body?: object;
  /** Ends an open request; by default it ends by itself. */
  readonly end?: (request: Open) => void | Promise<void>;
  readonly status?: number;
}

const JSON_BODY = { "content-type": "application/json" };
const PART = { ...JSON_BODY, "content-length": "100" };
const leave = (request: Open): void => request.leave();
const leaveStream = async (request: Open): Promise<void> => {
  await once(await request.response, "readable");
  request.leave();
};

const WAYS: readonly Way[] = [
  { title: "a response", path: "/probe/Probe/Call", body: {}, status: 200 },
  { title: "a response to HEAD", path: "/probe/Probe/Tell", method: "HEAD", status: 200 },
  { title: "an error of the service", path: "/probe/Probe/Fail", body: { code: 5 }, status: 404 },
  { title: "a malformed message", path: "/probe/Probe/Call", body: { nothing: 1 }, status: 400 },
  { title: "a response that is no message", path: "/probe/Probe/Break", body: {}, status: 502 },
  { title: "a service that cannot be reached", path: "/gone/Helloworld/Call", body: {}, status: 503 },
  {
    title: "its deadline",
    path: "/probe/Probe/Hang",
    headers: { "grpc-timeout": "50m" },
    body: {},
    status: 504,
  },
  { title: "a client that leaves while the service works", path: "/probe/Probe/Hang", body: {}, end: leave },
  { title: "a client that leaves before its body", path: "/probe/Probe/Call", headers: PART, end: leave },
  {
    title: "a body that is too large",
    path: "/probe/Probe/Call",
    body: { text: "a".repeat(70_000) },
    status: 413,
  },
  { title: "the end of a stream", path: "/feed/Feed/Count", body: { messages: 2 }, status: 200 },
  {
    title: "an error of a stream before it begins",
    path: "/feed/Feed/Count",
    body: { code: 5, hang: false, messages: 0 },
  },
  { title: "an error of a stream", path: "/feed/Feed/Count", body: { messages: 1, code: 10 }, status: 200 },
  { title: "a stream of malformed messages", path: "/feed/Feed/Broken", body: {}, status: 200 },
  { title: "HEAD of a stream", path: "/feed/Feed/Count?messages=1&hang=true", method: "HEAD", status: 200 },
  {
    title: "a stream that its client has seen to the end",
    path: "/feed/Feed/Count?messages=1",
    headers: { accept: "text/event-stream", "last-event-id": "complete" },
    status: 204,
  },
  {
    title: "a client that leaves a stream",
    path: "/feed/Feed/Count",
    body: { messages: 1, hang: true },
    end: leaveStream,
  },
  { title: "a client that leaves a silent stream", path: "/feed/Feed/Count", body: { hang: true }, end: leave },
  {
    title: "the end of an upload",
    path: "/feed/Feed/Store",
    headers: { "content-type": "test/plain" },
    body: {},
    status: 200,
  },
  {
    title: "a client that leaves its upload",
    path: "/feed/Feed/Store",
    headers: { "content-type": "test/plain", "content-length": "100" },
    end: leave,
  },
  { title: "a stream of messages without a WebSocket", path: "/feed/Feed/Chat", body: {}, status: 426 },
];

const OPTIONS = { flags: { maxBody: "65536", lease: "60s" } };

async function counted(t: Test): Promise<{ readonly it: Scene; readonly limits: ScriptedLimits }> {
  const limits = new ScriptedLimits();
  return { it: await scene(t, { ...OPTIONS, count: limits.count }), limits };
}

/** The one call was ended once. */
async function released(t: Test, limits: ScriptedLimits): Promise<void> {
  await until(() => limits.open === 0);
  await new Promise(setImmediate);
  t.same(limits.ends, [1]);
}

t.test("a request", async (t) => {
  const { it, limits } = await counted(t);
  for (const version of HTTP_VERSIONS) {
    const client = httpClient(t, version, it.gateway.address);
    for (const act of ["grant", "grant later"] as const) {
      for (const { title, path, method, headers, body, end, status } of WAYS) {
        t.test(`${title}, over ${version}: ${act}`, async (t) => {
          limits.reset(act);
          const sent = body === undefined ? "" : JSON.stringify(body);
          const hasBody = sent !== "" || headers?.["content-length"] !== undefined;
          const length = sent === "" ? {} : { "content-length": String(sent.length) };
          const request = client.open(
            {
              method: method ?? (hasBody ? "POST" : "GET"),
              path,
              headers: { ...(hasBody ? JSON_BODY : {}), ...length, ...headers },
            },
            hasBody,
          );
          if (sent !== "") request.write(sent);
          if (sent !== "" || !hasBody) request.end();
          await until(() => limits.counted.length === 1);
          if (act === "grant later") await limits.release();
          await until(() => limits.ends.length === 1);
          if (end !== undefined) await end(request);
          else {
            const head = await request.head;
            if (status !== undefined) t.equal(head.status, status);
            (await request.response).resume();
          }
          await released(t, limits);
        });
      }
    }
  }
});

t.test("a request whose record fails", async (t) => {
  const limits = new ScriptedLimits();
  let fails = false;
  const usage = {
    record(): void {
      if (!fails) return;
      fails = false;
      throw new Error("as a bug would");
    },
  };
  const it = await scene(t, { ...OPTIONS, count: limits.count, usage, level: "silent" });
  limits.reset("grant");
  fails = true;
  const { status } = await httpClient(t, "HTTP/1.1", it.gateway.address).send({ path: "/probe/Probe/Tell" });
  t.equal(status, 500);
  await released(t, limits);
});

t.test("a WebSocket", async (t) => {
  const { it, limits } = await counted(t);
  const ways: Record<string, (socket: WebSocket) => void> = {
    "that the client closes": (socket) => socket.close(),
    "whose client leaves": (socket) => socket.terminate(),
    "whose client sends no more": (socket) => socket.send(""),
    "with a message that is none": (socket) => socket.send("{"),
  };
  for (const [title, end] of Object.entries(ways)) {
    t.test(title, async (t) => {
      limits.reset("grant");
      const socket = new WebSocket(`ws://127.0.0.1:${it.port}/feed/Feed/Chat`);
      socket.on("error", () => {});
      await once(socket, "open");
      t.equal(limits.open, 1);
      end(socket);
      await released(t, limits);
    });
  }
});

for (const [title, path] of [
  ["a call", "/probe/Probe/Hang"],
  ["a stream", "/feed/Feed/Count?hang=true&messages=1"],
] as const) {
  t.test(`${title} when the gateway stops`, async (t) => {
    const { it, limits } = await counted(t);
    limits.reset("grant");
    const request = httpClient(t, "HTTP/1.1", it.gateway.address).open({ path }, false);
    request.head.catch(() => {});
    request.response.then((response) => response.on("error", () => {}).resume()).catch(() => {});
    request.end();
    await until(() => limits.open === 1);
    await it.gateway.close(0);
    await released(t, limits);
  });
}

t.test("a WebSocket when the gateway stops", async (t) => {
  const { it, limits } = await counted(t);
  limits.reset("grant");
  const socket = new WebSocket(`ws://127.0.0.1:${it.port}/feed/Feed/Chat`);
  socket.on("error", () => {});
  await once(socket, "open");
  await it.gateway.close(0);
  await released(t, limits);
});
