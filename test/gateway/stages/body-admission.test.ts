// A caller without permission cannot make the gateway receive a body. A caller who may call when
// the body begins must still be allowed to when the body has come.

import t from "tap";
import { readHeaders } from "../../../gateway/http/headers.js";
import type { GatewayRequest } from "../../../gateway/http/message.js";
import { createToken } from "../../../src/call/token.js";
import { deferred } from "../../support/deferred.js";
import { deploy, login, post } from "../deployment.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const { handler } = deployment;
const admin = await login(handler, "admin");
const rule = { id: "closed", scope: "<public>", access: "DENIED", resource: "service:helloworld:*", priority: 10 };

/** A POST whose body arrives when `send` is called. */
function slow(token: string | undefined): { request: GatewayRequest; asked: Promise<void>; send(body: string): void } {
  let send = (_body: string): void => {};
  const { promise: asked, resolve: ask } = deferred();
  const body = new Promise<Uint8Array[]>((resolve) => {
    send = (text) => resolve([Buffer.from(text)]);
  });
  const credentials = token === undefined ? [] : ["Authorization", `Bearer ${token}`];
  const headers = ["Host", "x", "Content-Type", "application/json", "Content-Length", "14", ...credentials];
  const request: GatewayRequest = {
    method: "POST",
    target: "/helloworld/call",
    rawHeaders: headers,
    headers: readHeaders(headers),
    remoteAddress: "192.0.2.1",
    body() {
      ask();
      return body;
    },
    arrivedBody: () => undefined,
    chunks: () => t.fail("a JSON body is read whole") as never,
    tryReserveResponse: () => true,
    tryReserveBody: () => true,
    onAbort() {},
  };
  return { request, asked, send };
}

t.test("a rule created while the body arrives denies the call", async (t) => {
  const { request, asked, send } = slow(undefined);
  const response = handler(request);
  await asked;
  await post(handler, "/v1/auth/Rules/Create", { rule }, admin);
  send('{"name":"Ada"}');
  t.equal((await response).status, 401);
});

for (const [title, token] of [
  ["no token", undefined],
  ["a token that belongs to no caller", createToken("access")],
] as const) {
  t.test(`${title}: rejected before the body is read`, async (t) => {
    const { request, asked } = slow(token);
    const response = Promise.resolve(handler(request)).then(({ status }) => status);
    t.equal(await Promise.race([response, asked.then(() => "the body was asked for")]), 401);
  });
}
