// A body that is passed on in chunks. While the service reads nothing, the client is not at fault,
// but the request ends after some time.

import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { mock } from "node:test";
import t from "tap";
import type { RequestHandler } from "../../../gateway/http/message.js";
import { listen } from "../../../gateway/node/listen.js";
import { loadConfig } from "../../../src/config/config.js";
import { deferred } from "../../support/deferred.js";

const HALF_AN_HOUR = 30 * 60_000;

t.test("a request ends with 504 when the service reads nothing of its body for half an hour", async (t) => {
  const { promise: isFull, resolve: full } = deferred();
  const faults: number[] = [];
  const handler: RequestHandler = (asked) =>
    new Promise((resolve) => {
      asked.chunks({
        onChunk() {
          full();
          return false;
        },
        onEnd() {},
        onError({ status, message }) {
          faults.push(status);
          resolve({ status, headers: [], body: message, length: message.length });
        },
      });
    });
  const gateway = await listen(handler, { host: "127.0.0.1", port: 0 }, loadConfig({}, {}));
  t.teardown(() => gateway.close(0));
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());

  const sending = request({ host: "127.0.0.1", port: gateway.address.port, method: "POST", agent: false });
  const response = once(sending, "response");
  sending.write("some");
  await isFull;
  await new Promise(setImmediate);
  mock.timers.tick(HALF_AN_HOUR - 1);
  await new Promise(setImmediate);
  t.same(faults, []);
  mock.timers.tick(1);
  await new Promise(setImmediate);
  t.same(faults, [504]);
  const [{ statusCode }] = (await response) as [IncomingMessage];
  t.equal(statusCode, 504);
  sending.destroy();
});
