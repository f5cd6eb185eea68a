/** What calls carry beside messages: metadata, headers and trailers. */

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

  "carries a caller assertion beside the metadata, which its endpoint may read at any time": async (t, serve) => {
    const go = deferred();
    const channel = await serve({
      async one(_request, context) {
        await go.promise;
        return Buffer.from(["x-signed", "x-text", "x-signed"].map((name) => textOf(context.metadata, name)).join("; "));
      },
    });
    const signed = { metadata: [["x-signed", "by us"]] as Metadata };
    const recorded = new Recorded();
    const call = channel.open({ ...start(RawService.one), metadata: SENT, context: signed }, recorded);
    call.send(Buffer.from("a"));
    call.end();
    go.resolve();
    t.equal((await recorded.ended).code, Code.OK);
    t.same(recorded.messages.map(String), ["by us; one, two; by us"]);
  },

  "refuses a call with two authorization entries, because it is unclear which one counts": async (t, serve) => {
    const channel = await serve({ one: () => t.fail("it was let in") as never });
    const two: Metadata = ["pta_1", "pta_2"].map((token) => ["authorization", `Bearer ${token}`]);
    const { code, message } = await rejection(unary(channel, RawService.one, Buffer.from("a"), { metadata: two }));
    // A client of grpc-js does not send the call, and fails with INTERNAL.
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
    const recorded = new Recorded();
    const call = channel.open(start(RawService.one), recorded);
    call.send(Buffer.from("a"));
    call.end();
    const { trailers } = await recorded.ended;
    for (const metadata of [recorded.headers, trailers]) {
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
    const recorded = new Recorded();
    const headers = deferred<Metadata>();
    const call = channel.open(start(RawService.download), {
      onHeaders: headers.resolve,
      onMessage: (message) => recorded.onMessage(message),
      onEnd: (status) => recorded.onEnd(status),
    });
    call.send(Buffer.from("a"));
    call.end();
    t.equal(textOf(await headers.promise, "x-text"), "one, two");
    go.resolve();
    t.equal((await recorded.ended).code, Code.OK);
  },
};
