/**
 * The two ways to speak gRPC between processes: our own HTTP/2, and @grpc/grpc-js, which takes 3 MB of a process and so is
 * loaded only where it is chosen.
 */
import type { Address, GrpcTarget } from "../address.js";
import type { Certificates } from "../certificates.js";
import type { Config } from "../config.js";
import type { MemoryBudget } from "../memory-budget.js";
import type { Channel, Verify } from "./channel.js";
import type { Dispatcher } from "./dispatch.js";
import type { GrpcServer, GrpcServerLimits } from "./grpc-js/server.js";
import { Http2Channel } from "./http2/channel.js";
import { serveHttp2 } from "./http2/server.js";

export interface Transport {
  /**
   * Listens; with a certificate over TLS, and with one of an authority for clients that show one of it.
   * @throws {Error} (rejects) when the address cannot be had; the message names it.
   */
  serve(dispatcher: Dispatcher, address: Address): Promise<GrpcServer>;
  /**
   * @param options `maxReconnectMs`, the longest pause before a connection that failed is tried again; `verify`, what is
   * asked of each connection before it takes calls; `ip`, the address to connect to, of the several that the name has
   */
  connect(
    target: GrpcTarget,
    options?: {
      readonly maxReconnectMs?: number;
      readonly verify?: Verify | undefined;
      readonly ip?: string | undefined;
    },
  ): Channel;
}

/**
 * @param limits of what is served, and of the messages that are received
 * @param budget of this process
 */
export async function loadTransport(
  name: Config["transport"],
  limits: GrpcServerLimits,
  certificates: Certificates,
  budget: MemoryBudget,
): Promise<Transport> {
  const { maxBody } = limits;
  const served = { tls: certificates.cert === undefined ? undefined : certificates, budget };
  const reached = (target: GrpcTarget) => ({ maxBody, tls: "tls" in target ? certificates : undefined, budget });
  if (name === "http2") {
    return {
      serve: (dispatcher, address) => serveHttp2(dispatcher, address, limits, served),
      connect: (target, options) => new Http2Channel(target, { ...reached(target), ...options }),
    };
  }
  const { serveGrpc } = await import("./grpc-js/server.js");
  const { GrpcChannel } = await import("./grpc-js/channel.js");
  return {
    serve: (dispatcher, address) => serveGrpc(dispatcher, address, limits, served),
    connect: (target, options) => new GrpcChannel(target, { ...reached(target), ...options }),
  };
}
