// Metadata passes between HTTP headers and a service that names it: in every dialect whose response
// is one message, and in streams.
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { text } from "node:stream/consumers";
import t from "tap";
import { asBuffer } from "../../../src/wire/buffer.js";
import { until } from "../../support/until.js";
import { deploy } from "../deployment.js";
import { createRelay } from "./relay.js";

const NAMES = ["x-tenant", "x-cost", "x-key-bin", "x-taken"];
const relay = createRelay(NAMES);
const it = await deploy(t.testdir(), {
  flags: { lease: "60s", cors: "https://app.example" },
  bound: true,
  services: [relay],
});
t.teardown(() => it.close());
const add = (service: string, id: string, metadata: string[]) =>
  it.add({ service, id, descriptors: asBuffer(relay.descriptors), grpcServices: ["relay.Relay"], metadata });

/** The headers among these that pass to a service. */
function passed(service: string): string {
  const target = it.catalog.routes.find(`/${service}/Relay/Call`)?.target;
  const headers = ["x-a", "a", "x-b", "b", "x-cost", "1", "accept-language", "de"];
  const names = target?.metadata.read(headers).map(([name]) => name);
  return names === undefined ? "none" : names.join();
}

/** Resolves when these headers of `passed` pass to a service. */
async function passing(service: string, names: string): Promise<void> {
  await until(() => passed(service) === names, { what: () => `${names} instead of ${passed(service)}` });
}

const origin = `http://127.0.0.1:${it.gateway.address.port}`;

interface Note {
  readonly text?: string;
  readonly code?: number;
  readonly headers?: readonly [name: string, value: string][];
  readonly trailers?: readonly [name: string, value: string][];
}

const pairs = (list: Note["headers"] = []) => list.map(([name, value]) => ({ name, value }));

function ask(path: string, note: Note, headers: Record<string, string> = {}): Promise<Response> {
  const body = JSON.stringify({ ...note, headers: pairs(note.headers), trailers: pairs(note.trailers) });
  return fetch(origin + path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
}

async function received(response: Response): Promise<Record<string, string>> {
  return ((await response.json()) as { received: Record<string, string> }).received;
}

const PATHS = { JSON: "/relay/Call", "google.api.http": "/bound/relay.Relay/Call" };

for (const [dialect, path] of Object.entries(PATHS)) {
  t.test(dialect, async (t) => {
    t.test("headers of a request reach the service", async (t) => {
      const sent = { "X-Tenant": "acme", "X-Key-Bin": "AQI", "X-Other": "no", Authorization: "Bearer none" };
      const metadata = await received(await ask(path, {}, sent));
      t.match(metadata, { "x-tenant": "acme", "x-key-bin": "\u0001\u0002" });
      t.notMatch(Object.keys(metadata).join(), /x-other|authorization/);
    });

    t.test("a value that is not valid metadata is refused", async (t) => {
      t.equal((await ask(path, {}, { "X-Key-Bin": "no base64!" })).status, 400);
      t.equal((await ask(path, {}, { "X-Key-Bin": ",".repeat(255) })).status, 200);
      t.equal((await ask(path, {}, { "X-Key-Bin": ",".repeat(256) })).status, 431);
    });

    t.test("the metadata and the trailing metadata of a response are headers", async (t) => {
      const { status, headers } = await ask(path, {
        headers: [
          ["x-tenant", "a"],
          ["x-tenant", "b"],
          ["x-key-bin", "\u0001\u0002"],
          ["x-other", "no"],
        ],
        trailers: [["x-cost", "3"]],
      });
      t.equal(status, 200);
      t.match(Object.fromEntries(headers), { "x-tenant": "a, b", "x-key-bin": "AQI", "x-cost": "3" });
      t.notOk(headers.has("x-other"));
    });

    t.test("an error has the metadata, too", async (t) => {
      const trailers: Note["trailers"] = [["x-cost", "3"]];
      const { status, headers } = await ask(path, {
        code: 5,
        text: "not here",
        headers: [["x-tenant", "a"]],
        trailers,
      });
      t.equal(status, 404);
      t.match(Object.fromEntries(headers), { "x-tenant": "a", "x-cost": "3" });
    });
  });
}

t.test("Connect", async (t) => {
  const headers = { "connect-protocol-version": "1", "portico-service": "relay" };
  const note: Note = { headers: [["x-tenant", "a"]], trailers: [["x-cost", "3"]] };
  const response = await ask("/relay.Relay/Call", note, headers);
  t.match(Object.fromEntries(response.headers), { "x-tenant": "a", "trailer-x-cost": "3" });
});

t.test("if a service names nothing, nothing passes", async (t) => {
  add("relay", "1", []);
  await passing("relay", "");
  const note: Note = { headers: [["x-tenant", "a"]], trailers: [["x-cost", "3"]] };
  const response = await ask("/relay/Call", note, { "X-Tenant": "a" });
  t.notOk(response.headers.has("x-tenant") || response.headers.has("x-cost"));
  t.notOk("x-tenant" in (await received(response)));
});

t.test("if a service names *, all passes except headers of HTTP, Portico and the dialects", async (t) => {
  add("relay", "1", ["*"]);
  await passing("relay", "x-a,x-b,x-cost");
  const response = await ask("/relay/Call", { headers: [["x-new", "a"]] }, { "X-Any": "a" });
  t.equal(response.headers.get("x-new"), "a");
  t.match(await received(response), { "x-any": "a" });
});

t.test("headers that affect the gateway's origin, a connection or a cache never pass", async (t) => {
  const names = [
    ...["set-cookie", "location", "refresh", "link", "clear-site-data", "access-control-allow-origin", "content-type"],
    ...["content-encoding", "content-length", "content-security-policy", "transfer-encoding", "connection", "upgrade"],
    ...["www-authenticate", "strict-transport-security", "alt-svc", "x-accel-redirect", "x-sendfile", "report-to"],
    ...["cross-origin-opener-policy", "x-request-id", "x-portico-account", "grpc-status", "connect-timeout-ms"],
    ...[
      "trailer-x",
      "date",
      "nel",
      "service-worker-allowed",
      "etag",
      "cache-control",
      "expires",
      "age",
      "pragma",
      "vary",
    ],
  ];
  const plain = await ask("/relay/Call", {});
  const response = await ask("/relay/Call", {
    headers: [...names.map((name): [string, string] => [name, "forged"]), ["x-tenant", "a"]],
    trailers: names.map((name) => [name, "forged"]),
  });
  t.equal(response.headers.get("x-tenant"), "a");
  t.same([...response.headers.keys()].sort(), [...plain.headers.keys(), "x-tenant"].sort());
  t.notMatch([...response.headers.values()].join(), /forged/);
});

t.test("a value that would begin another header is left out", async (t) => {
  for (const value of ["a\r\nset-cookie: b=c", "a\nb", "a\0b", "ä", "\u007f"]) {
    const { status, headers } = await ask("/relay/Call", { headers: [["x-a", value]], trailers: [["x-b", "b"]] });
    t.equal(status, 200);
    t.notOk(headers.has("x-a") || headers.has("set-cookie"), JSON.stringify(value));
    t.equal(headers.get("x-b"), "b");
  }
});

t.test("the first values of much metadata pass, up to a limit", async (t) => {
  const many: Note["headers"] = Array.from({ length: 100 }, (_, index) => [`x-${index}`, "v"]);
  const passed = (headers: Headers) => [...headers.keys()].filter((name) => /^x-\d+$/.test(name)).length;
  t.equal(passed((await ask("/relay/Call", { headers: many })).headers), 64);
  const large: Note["headers"] = Array.from({ length: 20 }, (_, index) => [`x-${index}`, "v".repeat(1_000)]);
  t.equal(passed((await ask("/relay/Call", { headers: large })).headers), 8);
});

t.test("a stream has the initial metadata as headers", async (t) => {
  add("relay", "1", NAMES);
  await passing("relay", "x-cost");
  for (const accept of ["application/x-ndjson", "text/event-stream"]) {
    const response = await ask(
      "/relay/Twice",
      { headers: [["x-tenant", "a"]], trailers: [["x-cost", "3"]] },
      { accept },
    );
    t.equal(response.headers.get("x-tenant"), "a");
    t.equal(response.headers.get("x-accel-buffering"), "no");
    t.match(await response.text(), /"text":""/);
  }
  const failed = await ask("/relay/Twice", { code: 5, text: "none", trailers: [["x-cost", "3"]] });
  t.equal(failed.status, 404);
  t.equal(failed.headers.get("x-cost"), "3");
});

t.test("over HTTP/2 a stream has the trailing metadata as trailers", async (t) => {
  const session: ClientHttp2Session = connect(origin);
  t.teardown(() => session.destroy());
  const stream = session.request({ ":path": "/relay/Twice", ":method": "POST", "content-type": "application/json" });
  let trailers: IncomingHttpHeaders = {};
  stream.on("trailers", (found) => {
    trailers = found;
  });
  stream.end(JSON.stringify({ trailers: [{ name: "x-cost", value: "3" }] }));
  await once(stream, "response");
  await text(stream);
  t.equal(trailers["x-cost"], "3");
});

t.test("the response to an upload has the metadata", async (t) => {
  const response = await fetch(`${origin}/relay/Take`, { method: "POST", body: "bytes" });
  t.equal(response.status, 200);
  t.equal(response.headers.get("x-taken"), "yes");
});

t.test("cross-origin pages may read the metadata", async (t) => {
  const response = await ask("/relay/Call", { headers: [["x-tenant", "a"]] }, { origin: "https://app.example" });
  t.equal(response.headers.get("access-control-allow-origin"), "https://app.example");
  t.match(response.headers.get("access-control-expose-headers"), /(?:^|, )\*$/);
});

t.test("if instances name different metadata, only metadata that passes for all of them passes", async (t) => {
  const expect = async (names: string): Promise<void> => {
    await passing("mixed", names);
    t.equal(passed("mixed"), names);
  };
  add("mixed", "1", ["x-a", "x-b"]);
  await expect("x-a,x-b");
  const leave = add("mixed", "2", ["x-b", "x-c"]);
  await expect("x-b");
  leave();
  await expect("x-a,x-b");
  add("mixed", "3", ["*", "accept-language"]);
  await expect("x-a,x-b");
  add("mixed", "1", ["x-a", "accept-language"]);
  await expect("x-a,accept-language");
});
