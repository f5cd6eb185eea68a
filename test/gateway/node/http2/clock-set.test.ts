// The time that a body may take is not measured by the wall clock, which may be set while the body
// arrives.
import { once } from "node:events";
import { type ClientHttp2Stream, connect, constants } from "node:http2";
import { text } from "node:stream/consumers";
import { mock } from "node:test";
import t, { type Test } from "tap";
import type { RequestHandler } from "../../../../gateway/http/message.js";
import { setWallClock } from "../../../support/clock.js";
import { deferred } from "../../../support/deferred.js";
import { echo, open } from "../dial.js";

const HOUR = 3_600_000;

/** A request that is being read, and whose first byte of the body has been sent. */
async function upload(t: Test, bodyTime: number): Promise<ClientHttp2Stream> {
  const { promise: asked, resolve } = deferred();
  const handler: RequestHandler = (request) => {
    resolve();
    return echo(request);
  };
  const { address } = await open(t, handler, { bodyTime });
  const session = connect(`http://127.0.0.1:${address.port}`);
  t.teardown(() => session.destroy());
  const stream = session.request({ ":method": "POST", ":path": "/p", "content-length": "2" });
  stream.write("a");
  await asked;
  return stream;
}

t.test("a body that is being sent is not late when the clock is set forward", async (t) => {
  mock.timers.enable({ apis: ["setInterval"] });
  t.teardown(() => mock.timers.reset());
  const stream = await upload(t, 60_000);
  setWallClock(t, 2 * HOUR);
  mock.timers.tick(60_000);
  stream.end("b");
  t.equal(await text(stream), "/p 2");
});

t.test("a body that does not come is late even if the clock is set back", async (t) => {
  const stream = await upload(t, 50);
  setWallClock(t, -2 * HOUR);
  const [{ [constants.HTTP2_HEADER_STATUS]: status }] = await once(stream, "response");
  t.equal(status, 408);
});
