// Server-sent events, for clients that ask for them by name.
import t from "tap";
import { open, scene } from "./client.js";

const it = await scene(t);
const EVENTS = { accept: "text/event-stream" };
const GREETING = 'data: {"message":"Hello Ada","msg":"Hello Ada"}\n\n';
const STREAM = "/helloworld/stream?name=Ada&messages=2";
const COMPLETE = "event: complete\nid: complete\ndata: {}\n\n";

for (const [title, path, ask] of [
  ["GET", STREAM, { headers: EVENTS }],
  ["POST", "/helloworld/stream", { headers: EVENTS, body: { name: "Ada", messages: 2 } }],
  [
    "POST, versioned",
    "/v1/helloworld/stream",
    { headers: { ...EVENTS, authorization: `Bearer ${it.admin}` }, body: { name: "Ada", messages: 2 } },
  ],
] as const) {
  t.test(`${title}: one numbered event per message`, async (t) => {
    const { status, headers, text } = await open(it, path, ask);
    t.equal(status, 200);
    t.equal(headers["content-type"], "text/event-stream");
    t.equal(await text(), `id: 1\n${GREETING}id: 2\n${GREETING}${COMPLETE}`);
  });
}

const [SSE, NDJSON] = ["text/event-stream", "application/x-ndjson"];
const accepts: [accept: string | undefined, type: string, why: string][] = [
  [SSE, SSE, "named"],
  ["Text/Event-Stream", SSE, "in any case"],
  [`application/json, ${SSE}`, SSE, "NDJSON is not accepted"],
  [`${SSE}; charset=utf-8`, SSE, "events are always UTF-8"],
  [`${SSE}, */*;q=0.1`, SSE, "the rest weighs less"],
  [`${SSE}, */*`, SSE, "the same weight, but named"],
  [`${SSE};q=0.9, */*`, NDJSON, "everything else weighs more"],
  [`${SSE};q=0.5, ${NDJSON};q=0.6`, NDJSON, "by weight"],
  [`${NDJSON};q=0.5, ${SSE};q=0.6`, SSE, "by weight, in any order"],
  [`${SSE}, ${NDJSON}`, NDJSON, "the same weight, both named"],
  [`${SSE};q=0, ${SSE};q=0.001`, SSE, "accepted at all"],
  [`${SSE};q=0, */*`, NDJSON, "refused by name"],
  [`${SSE}; charset=utf-8 ; Q=0.000`, NDJSON, "refused, written at length"],
  [`${NDJSON};q=0, */*`, SSE, "NDJSON is refused by name"],
  ["text/*", SSE, "NDJSON is no text"],
  ["text/*;q=0, */*", NDJSON, "the more precise range counts"],
  ["text/*;q=0.2, application/*;q=0.1", SSE, "the weights of wildcards"],
  ["*/*", NDJSON, "both alike"],
  ["application/json", NDJSON, "neither: the header is ignored"],
  [`${SSE};q=2`, NDJSON, "no weight"],
  ["text/event-streams", NDJSON, "another type"],
  [undefined, NDJSON, "nothing asked"],
];
for (const [accept, type, why] of accepts) {
  t.test(`Accept: ${accept ?? "none"} gets ${type} (${why})`, async (t) => {
    const { headers, text } = await open(it, STREAM, accept === undefined ? {} : { headers: { accept } });
    t.equal(headers["content-type"], type);
    await text();
  });
}

t.test("an EventSource that connects again", async (t) => {
  t.test("after the whole stream is stopped", async (t) => {
    const { status, text } = await open(it, STREAM, { headers: { ...EVENTS, "last-event-id": "complete" } });
    t.equal(status, 204);
    t.equal(await text(), "");
  });

  t.test("after a break gets the stream again", async (t) => {
    const { status, text } = await open(it, STREAM, { headers: { ...EVENTS, "last-event-id": "1" } });
    t.equal(status, 200);
    t.match(await text(), /^id: 1\n/);
  });
});

t.test("a stream without messages has only the end event", async (t) => {
  const { status, text } = await open(it, "/helloworld/stream", { headers: EVENTS });
  t.equal(status, 200);
  t.equal(await text(), COMPLETE);
});
