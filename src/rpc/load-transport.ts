/**
 * Loads the configured transport. @grpc/grpc-js needs 3 MB of memory, so it is loaded only if
 * chosen.
 */
import type { GrpcTarget } from "../address/address.js";
import type { Certificates } from "../config/certificates.js";
import type { Config } from "../config/config.js";
import type { MemoryBudget } from "../memory/memory-budget.js";
import { Http2Channel } from "./http2/channel.js";
import { serveHttp2 } from "./http2/server.js";
import type { ClientTls, ConnectOptions, ServerLimits, ServiceTls, Transport } from "./transport.js";

/**
 * @param limits limits of the server, and of the messages that are received
 * @param budget the memory budget of this process
 */
export async function loadTransport(
  name: Config["transport"],
  limits: ServerLimits,
  certificates: Certificates,
  budget: MemoryBudget,
): Promise<Transport> {
  const { maxBody } = limits;
  const server = { tls: certificates.cert === undefined ? undefined : certificates, budget };
  const channel = (target: GrpcTarget, { tls, ...options }: ConnectOptions = {}) => ({
    maxBody,
    budget,
    ...options,
    tls: "tls" in target ? (tls === undefined ? certificates : orElse(tls, certificates)) : undefined,
  });
  if (name === "http2") {
    return {
      serve: (dispatcher, address) => serveHttp2(dispatcher, address, limits, server),
      connect: (target, options) => new Http2Channel(target, channel(target, options)),
    };
  }
  const { serveGrpc } = await import("./grpc-js/server.js");
  const { GrpcChannel } = await import("./grpc-js/channel.js");
  return {
    serve: (dispatcher, address) => serveGrpc(dispatcher, address, limits, server),
    connect: (target, options) => new GrpcChannel(target, channel(target, options)),
  };
}

/** The TLS of a target. What it does not set is as for the process. */
function orElse(own: ServiceTls, usual: Certificates): ClientTls {
  const { servername } = own;
  return {
    get ca() {
      return own.ca ?? usual.ca;
    },
    get cert() {
      return own.cert ?? usual.cert;
    },
    get key() {
      return own.key ?? usual.key;
    },
    ...(servername === undefined ? {} : { servername }),
  };
}
