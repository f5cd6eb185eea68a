// Requests and responses are the same for the handler and for the client, in either version of
// HTTP.
import { once } from "node:events";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import type { BodySink, ChunkFlow } from "../../../gateway/http/body.js";
import type { HttpError } from "../../../gateway/http/errors.js";
import { announcesBody } from "../../../gateway/http/headers.js";
import type { RequestHandler } from "../../../gateway/http/message.js";
import { MemoryBudget } from "../../../src/memory/memory-budget.js";
import { deferred } from "../../support/deferred.js";
import { type Client, HTTP_VERSIONS, type HttpVersion, httpClient } from "../../support/http-client.js";
import { until } from "../../support/until.js";
import { echo, held, type Limits, open, response } from "./dial.js";

type Connect = (t: Test, handler: RequestHandler, limits?: Partial<Limits>) => Promise<Client>;

const connectBy =
  (version: HttpVersion): Connect =>
  async (t, handler, limits) =>
    httpClient(t, version, (await open(t, handler, limits)).address);

/** A stream that the test writes. */
function streamed(): {
  handler: RequestHandler;
  sink: Promise<BodySink>;
  drained: () => number;
  aborted: Promise<HttpError>;
} {
  const { promise: sink, resolve: opened } = deferred<BodySink>();
  const { promise: aborted, resolve: abort } = deferred<HttpError>();
  let drains = 0;
  const body = { open: opened, onDrain: () => void drains++ };
  const handler: RequestHandler = (request) => {
    request.onAbort(abort);
    return { status: 200, headers: ["Content-Type", "text/plain"], body, length: 0 };
  };
  return { handler, sink, drained: () => drains, aborted };
}

const BEHAVIOUR: Readonly<Record<string, (t: Test, connect: Connect) => Promise<void>>> = {
  async "the target and the headers arrive as they were sent"(t, connect) {
    let seen: readonly (string | undefined)[] = [];
    const client = await connect(t, (request) => {
      const { rawHeaders, headers, method, target, remoteAddress } = request;
      const at = rawHeaders.findIndex((name) => name.toLowerCase() === "x-a");
      seen = [method, target, headers.host, headers.requestId, rawHeaders[at + 1], remoteAddress];
      return echo(request);
    });
    const headers = { host: "example.test:80", "x-request-id": "r-1", "x-a": "b, c" };
    const { status, body } = await client.send({ path: "/a%20b?c=d&e", headers });
    t.match({ status, body }, { status: 200, body: "/a%20b?c=d&e 0" });
    t.same(seen, ["GET", "/a%20b?c=d&e", "example.test:80", "r-1", "b, c", "127.0.0.1"]);
  },

  async "the response has the status, the headers and a date"(t, connect) {
    const client = await connect(t, () => ({
      status: 404,
      headers: ["Content-Type", "text/plain", "X-Two", "a", "X-Two", "b", "Content-Length", "3"],
      body: "é!",
      length: 3,
    }));
    const { status, headers, body } = await client.send({});
    t.match({ status, body }, { status: 404, body: "é!" });
    t.match(headers, { "content-type": "text/plain", "x-two": "a, b", "content-length": "3" });
    t.ok(Math.abs(Date.parse(headers.date as string) - Date.now()) < 60_000);
  },

  async "HEAD has the headers of the response without its body"(t, connect) {
    const client = await connect(t, echo);
    const { status, headers, body } = await client.send({ method: "HEAD", path: "/12" });
    t.match({ status, body }, { status: 200, body: "" });
    t.equal(headers["content-length"], "5");
    t.match(await client.send({ path: "/next" }), { body: "/next 0" });
  },

  async "statuses without a body have none"(t, connect) {
    const client = await connect(t, ({ target }) => ({
      status: Number(target.slice(1)),
      headers: [],
      body: "",
      length: 0,
    }));
    for (const status of [204, 304]) t.match(await client.send({ path: `/${status}` }), { status, body: "" });
  },

  async "a body is read to its end, with its length announced or not"(t, connect) {
    const client = await connect(t, echo);
    for (const size of [0, 1, 16_384, 100_000, 4_000_000]) {
      const { body } = await client.send({ method: "POST", path: "/p", body: "x".repeat(size) });
      t.equal(body, `/p ${size}`);
      const request = client.open({ method: "POST", path: "/s" });
      request.write("x".repeat(size));
      request.end();
      t.equal(await text(await request.response), `/s ${size}`);
    }
  },

  async "the handler knows that a body follows, with or without a header for its length"(t, connect) {
    const announced: boolean[] = [];
    const client = await connect(t, (request) => {
      announced.push(announcesBody(request.headers));
      return echo(request);
    });
    await client.send({});
    await client.send({ method: "POST", body: "a" });
    const request = client.open({ method: "POST" });
    request.end();
    await request.head;
    t.same(announced, [false, true, true]);
  },

  async "a body of the maximum size is read, one byte more is not"(t, connect) {
    const client = await connect(t, echo, { maxBody: 100_000 });
    for (const [size, status] of [
      [100_000, 200],
      [100_001, 413],
    ] as const) {
      t.match(await client.send({ method: "POST", body: "x".repeat(size) }), { status }, "announced");
      const request = client.open({ method: "POST" });
      request.write("x".repeat(size));
      request.end();
      t.equal((await request.head).status, status, "not announced");
    }
  },

  async "a body that waits for 100 Continue is asked for only when it is read"(t, connect) {
    for (const [handler, asked] of [
      [echo, true],
      [() => response("early", 404), false],
    ] as const) {
      const client = await connect(t, handler);
      const headers = { expect: "100-continue", "content-length": "5" };
      const request = client.open({ method: "POST", headers });
      let continued = false;
      request.onContinue(() => {
        continued = true;
        request.write("12345");
        request.end();
      });
      const { status } = await request.head;
      t.match({ status, continued }, { status: asked ? 200 : 404, continued: asked });
      request.leave();
    }
  },

  async "a body that does not come in time is rejected"(t, connect) {
    const client = await connect(t, echo, { headerTime: 100, bodyTime: 100 });
    const request = client.open({ method: "POST", headers: { "content-length": "5" } });
    request.write("12");
    t.equal((await request.head).status, 408);
  },

  async "a response may come before the body, and the next request is served"(t, connect) {
    const client = await connect(t, () => response("early", 404));
    const request = client.open({ method: "POST", headers: { "content-length": "5" } });
    t.equal(await text(await request.response), "early");
    request.write("12345");
    request.end();
    t.match(await client.send({}), { status: 404, body: "early" });
  },

  async "bodies for which there is no memory are rejected"(t, connect) {
    const budget = new MemoryBudget({ limit: 320_000 });
    const { handler, finish } = held();
    const client = await connect(
      t,
      async (request) => {
        const echoed = await echo(request);
        return echoed.status === 200 ? handler(request) : echoed;
      },
      { budget },
    );
    const first = client.open({ method: "POST", headers: { "content-length": "50000" } });
    first.write("x".repeat(50_000));
    first.end();
    await until(() => budget.reserved >= 50_000);
    t.equal((await client.send({ method: "POST", body: "x".repeat(200_000) })).status, 503);
    finish();
    t.equal((await first.head).status, 200);
    await until(() => budget.reserved < 50_000);
  },

  async "a client that goes away ends its request"(t, connect) {
    const { promise: asked, resolve: ask } = deferred();
    const { promise: aborted, resolve: abort } = deferred<HttpError>();
    const client = await connect(t, (request) => {
      request.onAbort(abort);
      ask();
      return new Promise(() => {});
    });
    const request = client.open({}, false);
    request.end();
    await asked;
    request.leave();
    t.equal((await aborted).status, 499);
  },

  async "a body is passed on in chunks, as fast as they are read"(t, connect) {
    const { promise: started, resolve: start } = deferred<ChunkFlow>();
    const { promise: ended, resolve: end } = deferred();
    let size = 0;
    let paused = true;
    const client = await connect(t, async (request) => {
      const flow = request.chunks({
        onChunk(chunk) {
          size += chunk.length;
          return !paused;
        },
        onEnd: end,
        onError: (error) => t.fail(error.message),
      });
      start(flow);
      await ended;
      return response(`${size}`);
    });
    const request = client.open({ method: "POST" });
    const total = 12_000_000; // More than the system buffers of it.
    request.write(Buffer.alloc(total));
    request.end();
    const flow = await started;
    await until(() => size > 0);
    t.ok(size < total);
    paused = false;
    flow.resume();
    t.equal(await text(await request.response), `${total}`);
  },

  async "a client that goes away during its upload fails it"(t, connect) {
    const { promise: failed, resolve: fail } = deferred<HttpError>();
    const { promise: came, resolve: come } = deferred();
    const client = await connect(t, (request) => {
      const onChunk = (): boolean => {
        come();
        return true;
      };
      request.chunks({ onChunk, onEnd: () => t.fail("the upload is not complete"), onError: fail });
      return new Promise(() => {});
    });
    const request = client.open({ method: "POST" });
    request.write("x");
    await came;
    request.leave();
    t.equal((await failed).status, 499);
  },

  async "chunks that do not come in time fail the upload"(t, connect) {
    const { promise: failed, resolve: fail } = deferred<HttpError>();
    const client = await connect(
      t,
      async (request) => {
        request.chunks({ onChunk: () => true, onEnd: () => t.fail("the upload is not complete"), onError: fail });
        return response("late", (await failed).status);
      },
      { headerTime: 100, bodyTime: 100 },
    );
    const request = client.open({ method: "POST" });
    request.write("x");
    t.equal((await failed).status, 408);
    t.equal((await request.head).status, 408);
  },

  async "a stream is sent as it is written"(t, connect) {
    const { handler, sink } = streamed();
    const client = await connect(t, handler);
    const request = client.open({}, false);
    request.end();
    const writer = await sink;
    writer.write("one\n");
    const response = await request.response;
    t.equal(`${(await once(response, "data"))[0]}`, "one\n");
    writer.write(Buffer.from("two\n"));
    t.equal(`${(await once(response, "data"))[0]}`, "two\n");
    writer.end();
    t.equal(await text(response), "");
  },

  async "a stream waits for a client that does not read, and continues when it does"(t, connect) {
    const { handler, sink, drained } = streamed();
    const client = await connect(t, handler);
    const request = client.open({}, false);
    request.end();
    const writer = await sink;
    const chunk = "x".repeat(50_000);
    writer.write(chunk);
    const response = await request.response;
    let size = chunk.length;
    let waiting = 0;
    // The first chunks fit into the buffers between the two, so the stream need not wait for the
    // client yet.
    for (; waiting < 50; ) {
      const before = drained();
      size += chunk.length;
      if (writer.write(chunk)) continue;
      for (waiting = 0; waiting < 50 && drained() === before; waiting++)
        await new Promise((resolve) => setTimeout(resolve, 10));
      t.ok(size < 100_000_000);
    }
    const before = drained();
    let read = 0;
    response.on("data", (bytes: Buffer) => {
      read += bytes.length;
    });
    await until(() => drained() > before);
    writer.end();
    await once(response, "end");
    t.equal(read, size);
  },

  async "the client sees that an aborted stream is incomplete"(t, connect) {
    const { handler, sink } = streamed();
    const client = await connect(t, handler);
    const request = client.open({}, false);
    request.end();
    const writer = await sink;
    writer.write("one\n");
    const response = await request.response;
    await once(response, "data");
    writer.abort();
    await t.rejects(text(response));
  },

  async "a client that goes away ends its stream"(t, connect) {
    const { handler, sink, aborted } = streamed();
    const client = await connect(t, handler);
    const request = client.open({}, false);
    request.end();
    (await sink).write("one\n");
    await request.head;
    request.leave();
    t.equal((await aborted).status, 499);
  },
};

for (const version of HTTP_VERSIONS) {
  t.test(version, async (t) => {
    for (const [behaviour, run] of Object.entries(BEHAVIOUR))
      await t.test(behaviour, (t) => run(t, connectBy(version)));
  });
}
