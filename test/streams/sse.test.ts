// Server-sent events, for those who ask for them by name.
import t from "tap";
import { open, scene } from "./client.js";

const it = await scene(t);
const EVENTS = { accept: "text/event-stream" };
const GREETING = 'data: {"message":"Hello Ada","msg":"Hello Ada"}\n\n';
const STREAM = "/helloworld/stream?name=Ada&messages=2";
const COMPLETE = "id: complete\n\n";

for (const [title, path, ask] of [
  ["GET", STREAM, { headers: EVENTS }],
  ["POST", "/helloworld/stream", { headers: EVENTS, body: { name: "Ada", messages: 2 } }],
  [
    "POST, versioned",
    "/v1/helloworld/stream",
    { headers: { ...EVENTS, authorization: `Bearer ${it.admin}` }, body: { name: "Ada", messages: 2 } },
  ],
] as const) {
  t.test(`${title}: an event a message, numbered`, async (t) => {
    const { status, headers, text } = await open(it, path, ask);
    t.equal(status, 200);
    t.equal(headers["content-type"], "text/event-stream");
    t.equal(await text(), `id: 1\n${GREETING}id: 2\n${GREETING}${COMPLETE}`);
  });
}

const accepts: [accept: string | undefined, type: string][] = [
  ["text/event-stream", "text/event-stream"],
  ["Text/Event-Stream", "text/event-stream"],
  ["text/event-stream;q=0.9, */*", "text/event-stream"],
  ["application/json, text/event-stream", "text/event-stream"],
  ["text/event-stream;q=0, text/event-stream;q=0.001", "text/event-stream"],
  ["text/event-stream;q=0, application/x-ndjson", "application/x-ndjson"],
  ["text/event-stream; charset=utf-8 ; Q=0.000", "application/x-ndjson"],
  ["*/*", "application/x-ndjson"],
  ["text/*", "application/x-ndjson"],
  ["text/event-streams", "application/x-ndjson"],
  [undefined, "application/x-ndjson"],
];
for (const [accept, type] of accepts) {
  t.test(`Accept: ${accept ?? "none"}`, async (t) => {
    const { headers, text } = await open(it, STREAM, accept === undefined ? {} : { headers: { accept } });
    t.equal(headers["content-type"], type);
    await text();
  });
}

t.test("a browser that comes back", async (t) => {
  t.test("after all is told not to", async (t) => {
    const { status, text } = await open(it, STREAM, { headers: { ...EVENTS, "last-event-id": "complete" } });
    t.equal(status, 204);
    t.equal(await text(), "");
  });

  t.test("after a break gets the stream anew", async (t) => {
    const { status, text } = await open(it, STREAM, { headers: { ...EVENTS, "last-event-id": "1" } });
    t.equal(status, 200);
    t.match(await text(), /^id: 1\n/);
  });
});

t.test("no messages: no event", async (t) => {
  const { status, text } = await open(it, "/helloworld/stream", { headers: EVENTS });
  t.equal(status, 200);
  t.equal(await text(), COMPLETE);
});
