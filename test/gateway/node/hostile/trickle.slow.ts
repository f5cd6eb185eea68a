// A client that sends a byte now and then gains no time by it. The times for head and body count
// from the beginning of the request.
import t, { type Test } from "tap";
import type { HttpError } from "../../../../gateway/http/errors.js";
import type { RequestHandler } from "../../../../gateway/http/message.js";
import { dial, open, response } from "../dial.js";

const HEADER_TIME = 600;
const BODY_TIME = 600;
/** Many times the allowed time, and less than the timeout of the test. */
const MAX_TIME = 20_000;

const handler: RequestHandler = async (request) => {
  if (request.error !== undefined) return response("fault", request.error.status);
  try {
    await request.body();
    return response("read");
  } catch (error) {
    return response("refused", (error as HttpError).status);
  }
};

/**
 * Sends the bytes, and then others again and again until the connection is closed.
 * @returns the response, and the time until the end
 */
async function trickle(t: Test, bytes: string, again: string): Promise<{ text: string; took: number }> {
  const port = await open(t, handler, { headerTime: HEADER_TIME, bodyTime: BODY_TIME, keepAlive: HEADER_TIME });
  const { socket, rest } = await dial(port);
  const started = performance.now();
  socket.write(bytes);
  const timer = setInterval(() => socket.write(again), 20);
  socket.once("end", () => socket.end());
  const text = await rest();
  clearInterval(timer);
  return { text, took: performance.now() - started };
}

const CASES = [
  { title: "a request line", bytes: "GET /", again: "a", status: 408 },
  { title: "header values", bytes: "GET / HTTP/1.1\r\nHost: x\r\nA: ", again: "a", status: 408 },
  { title: "headers", bytes: "GET / HTTP/1.1\r\nHost: x\r\n", again: "A: b\r\n", status: 408 },
  { title: "empty lines before a request", bytes: "\r\n", again: "\r\n", status: 408 },
  {
    title: "a body with a length",
    bytes: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
    again: "a",
    status: 408,
  },
  {
    title: "a body in chunks",
    bytes: "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    again: "1\r\na\r\n",
    status: 408,
  },
  {
    title: "the size of a chunk",
    bytes: "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    again: "0",
    status: 408,
  },
  {
    title: "trailers",
    bytes: "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    again: "A: b\r\n",
    status: 408,
  },
] as const;

t.jobs = CASES.length;
for (const { title, bytes, again, status } of CASES) {
  t.test(`a trickle of ${title} is rejected`, async (t) => {
    const { text, took } = await trickle(t, bytes, again);
    t.match(text, new RegExp(`^HTTP/1.1 ${status} `));
    t.match(text, /Connection: close/);
    t.ok(took < MAX_TIME, `after ${took.toFixed(0)} ms`);
  });
}
t.test("a trickle of empty lines after a response does not keep the connection open", async (t) => {
  const { text, took } = await trickle(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\r\n");
  t.match(text, /^HTTP\/1.1 200 /);
  t.ok(took < MAX_TIME, `after ${took.toFixed(0)} ms`);
});
