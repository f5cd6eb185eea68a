// By default, a silent stream over plain HTTP gets a heartbeat every 15 s.
import { mock } from "node:test";
import t from "tap";
import type { BodyStream } from "../../../../../gateway/http/body.js";
import { HttpError } from "../../../../../gateway/http/errors.js";
import { readHeaders } from "../../../../../gateway/http/headers.js";
import type { GatewayRequest } from "../../../../../gateway/http/message.js";
import { scene } from "./client.js";

const HEARTBEAT_MS = 15_000;
const it = await scene(t);

t.test("heartbeats are sent while a stream is silent, and stop with it", async (t) => {
  mock.timers.enable({ apis: ["setInterval"] });
  t.teardown(() => mock.timers.reset());
  const headers = ["Host", "portico.test", "Accept", "text/event-stream"];
  const request: GatewayRequest = {
    method: "GET",
    target: "/feed/count?messages=1&hang=true",
    rawHeaders: headers,
    headers: readHeaders(headers),
    remoteAddress: "192.0.2.1",
    body: () => [],
    arrivedBody: () => [],
    chunks: () => t.fail("a GET has no body") as never,
    tryReserveResponse: () => true,
    tryReserveBody: () => true,
    onAbort: (listener) => t.teardown(() => listener(new HttpError(499, "The client has gone"))),
  };
  const { body } = await it.handler(request);
  const written: string[] = [];
  const write = (chunk: string | Uint8Array): boolean => written.push(String(chunk)) > 0;
  (body as BodyStream).open({ write, end() {}, abort() {} });

  const first = 'id: 1\ndata: {"number":"1","padding":""}\n\n';
  mock.timers.tick(HEARTBEAT_MS - 1);
  t.same(written, [first]);
  mock.timers.tick(1);
  t.same(written, [first, ":\n\n"]);
  mock.timers.tick(HEARTBEAT_MS);
  t.same(written, [first, ":\n\n", ":\n\n"]);
});
