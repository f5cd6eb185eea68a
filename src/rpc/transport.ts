/**
 * The two ways to speak gRPC between processes: our own HTTP/2, and @grpc/grpc-js, which takes 3 MB of a process and so is
 * loaded only where it is chosen.
 */
import type { Address, Config } from "../config.js";
import type { Channel } from "./channel.js";
import type { Dispatcher } from "./dispatch.js";
import type { GrpcServer, GrpcServerLimits } from "./grpc-server.js";
import { Http2Channel } from "./http2/channel.js";
import { serveHttp2 } from "./http2/server.js";

export interface Transport {
  /**
   * Listens.
   * @throws {Error} (rejects) when the address cannot be had; the message names it.
   */
  serve(dispatcher: Dispatcher, address: Address): Promise<GrpcServer>;
  connect(address: Address): Channel;
}

/** @param limits of what is served, and of the messages that are received */
export async function loadTransport(name: Config["transport"], limits: GrpcServerLimits): Promise<Transport> {
  const { maxBody } = limits;
  if (name === "http2") {
    return {
      serve: (dispatcher, address) => serveHttp2(dispatcher, address, limits),
      connect: (address) => new Http2Channel(address, { maxBody }),
    };
  }
  const { serveGrpc } = await import("./grpc-server.js");
  const { GrpcChannel } = await import("./grpc-channel.js");
  return {
    serve: (dispatcher, address) => serveGrpc(dispatcher, address, limits),
    connect: (address) => new GrpcChannel({ ...address, maxBody }),
  };
}
