/** What calls carry besides messages: metadata, headers and trailers. */

import type { Metadata } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { unary } from "../../../src/rpc/client.js";
import type { Context } from "../../../src/rpc/service.js";
import { RawService } from "../../rpc/raw-service.js";
import { deferred } from "../../support/deferred.js";
import { type Behaviour, bytesOf, Recorded, rejection, SENT, start, textOf } from "./calls.js";

export const metadata: Readonly<Record<string, Behaviour>> = {
  "carries metadata, bytes included, to the endpoint": async (t, serve) => {
    const seen = deferred<Context>();
    const channel = await serve({
      one: (request, context) => {
        seen.resolve(context);
        return request;
      },
    });
    await unary(channel, RawService.one, Buffer.from("a"), { metadata: SENT });
    const { metadata } = await seen.promise;
    t.equal(textOf(metadata, "x-text"), "one, two");
    t.same(bytesOf(metadata, "x-bytes-bin"), [[0, 255, 128], [7]]);
  },

  "carries a caller assertion beside the metadata, which the endpoint may read at any time": async (t, serve) => {
    const go = deferred();
    const channel = await serve({
      async one(_request, context) {
        await go.promise;
        return Buffer.from(["x-signed", "x-text", "x-signed"].map((name) => textOf(context.metadata, name)).join("; "));
      },
    });
    const signed = { metadata: [["x-signed", "by us"]] as Metadata };
    const told = new Recorded();
    const call = channel.open({ ...start(RawService.one), metadata: SENT, callerAssertion: signed }, told);
    call.send(Buffer.from("a"));
    call.end();
    go.resolve();
    t.equal((await told.ended).code, Code.OK);
    t.same(told.messages.map(String), ["by us; one, two; by us"]);
  },

  "refuses a call with two authorization entries": async (t, serve) => {
    const channel = await serve({ one: () => t.fail("it was let in") as never });
    const two: Metadata = ["pta_1", "pta_2"].map((token) => ["authorization", `Bearer ${token}`]);
    const { code, message } = await rejection(unary(channel, RawService.one, Buffer.from("a"), { metadata: two }));
    // A client of grpc-js does not even send it, and reports INTERNAL.
    t.ok(code === Code.UNAUTHENTICATED || code === Code.INTERNAL, `${code}`);
    t.match(message, /authorization/);
  },

  "carries headers and trailers, bytes included, to the caller": async (t, serve) => {
    const channel = await serve({
      one: (request, context) => {
        context.sendHeaders(SENT);
        context.setTrailers(SENT);
        return request;
      },
    });
    const told = new Recorded();
    const call = channel.open(start(RawService.one), told);
    call.send(Buffer.from("a"));
    call.end();
    const { trailers } = await told.ended;
    for (const metadata of [told.headers, trailers]) {
      t.equal(textOf(metadata, "x-text"), "one, two");
      t.same(bytesOf(metadata, "x-bytes-bin"), [[0, 255, 128], [7]]);
    }
  },

  "carries headers before the first message exists": async (t, serve) => {
    const go = deferred();
    const channel = await serve({
      async *download(request, context) {
        context.sendHeaders(SENT);
        await go.promise;
        yield request;
      },
    });
    const told = new Recorded();
    const headers = deferred<Metadata>();
    const call = channel.open(start(RawService.download), {
      onHeaders: headers.resolve,
      onMessage: (message) => told.onMessage(message),
      onEnd: (status) => told.onEnd(status),
    });
    call.send(Buffer.from("a"));
    call.end();
    t.equal(textOf(await headers.promise, "x-text"), "one, two");
    go.resolve();
    t.equal((await told.ended).code, Code.OK);
  },
};
