/** Helpers that serve and call over Portico's HTTP/2 in a test. */
import type { Test } from "tap";
import type { GrpcTarget } from "../../src/address/address.js";
import type { Dispatcher } from "../../src/rpc/dispatch.js";
import { Http2Channel } from "../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../src/rpc/http2/server.js";
import type { GrpcServer } from "../../src/rpc/transport.js";
import { MAX_BODY } from "../contract/channel.js";
import { LIMITS } from "../rpc/serve.js";

/** Serves on a free port until the test ends. */
export async function listenHttp2(
  t: Test,
  dispatcher: Dispatcher,
  options: Parameters<typeof serveHttp2>[3] & { readonly address?: GrpcTarget } = {},
): Promise<GrpcServer> {
  const server = await serveHttp2(dispatcher, options.address ?? { host: "127.0.0.1", port: 0 }, LIMITS, options);
  t.teardown(() => server.close(0));
  return server;
}

/** A channel that is closed when the test ends. */
export function channelTo(
  t: Test,
  address: GrpcTarget,
  options: Partial<ConstructorParameters<typeof Http2Channel>[1]> = {},
): Http2Channel {
  const channel = new Http2Channel(address, { maxBody: MAX_BODY, ...options });
  t.teardown(() => channel.close());
  return channel;
}
