/**
 * A transport speaks gRPC between processes. There are two: `http2/`, which is Portico's own, and
 * `grpc-js/`. They have the same options, and the same behaviour as far as test/contract/channel.ts
 * describes it. load-transport.ts chooses one.
 */
import type { AddressInfo, Server } from "node:net";
import { type Address, formatGrpcTarget, type GrpcTarget } from "../address/address.js";
import type { Certificates } from "../config/certificates.js";
import type { Config } from "../config/config.js";
import type { MemoryBudget } from "../memory/memory-budget.js";
import type { Channel, Verify } from "./channel.js";
import type { Dispatcher } from "./dispatch.js";

export interface Transport {
  /**
   * Listens on the address. With a certificate it speaks TLS. With a certificate authority, clients
   * must also show a certificate of that authority.
   * @throws {Error} (rejects) when it cannot listen on the address; the message names the address
   */
  serve(dispatcher: Dispatcher, address: Address): Promise<GrpcServer>;
  connect(target: GrpcTarget, options?: ConnectOptions): Channel;
}

export interface ConnectOptions extends Pick<ChannelOptions, "maxReconnectMs" | "verify" | "ip" | "maxBody"> {
  /**
   * For this target instead of the certificates of the process, if it speaks TLS. What is undefined
   * is as for the process.
   */
  readonly tls?: ServiceTls | undefined;
}

/** TLS of one target. Its values may change; new connections use the new ones. */
export type ServiceTls = Pick<ClientTls, "ca" | "cert" | "key" | "servername">;

export interface ClientTls extends Certificates {
  /** The name in the server's certificate, if that is not the host. */
  readonly servername?: string;
}

export interface GrpcServer {
  /**
   * The address where it listens, with the chosen port when port 0 was asked for. For a Unix socket
   * its path, and port 0.
   */
  readonly address: Address;
  /** How many connections are open. */
  readonly connections: number;
  /**
   * Accepts no more calls, lets open calls finish for `drainMs` milliseconds, then ends them.
   * Resolves when all connections are closed.
   */
  close(drainMs: number): Promise<void>;
}

export type ServerLimits = Pick<Config, "maxBody" | "maxHeaders" | "maxConnections" | "headerTime" | "keepAlive">;

export interface ServerOptions {
  /**
   * If set, the server speaks TLS. If it contains a `ca`, clients must show a certificate of that
   * certificate authority.
   */
  readonly tls?: Certificates | undefined;
  /** The memory budget of this process. Default: a budget for this server only. */
  readonly budget?: MemoryBudget | undefined;
}

export interface ChannelOptions {
  /** Maximum bytes of a message that is received; default 4 MiB. */
  readonly maxBody?: number | undefined;
  /** The longest pause before a failed connection is tried again, in milliseconds; default 5 s. */
  readonly maxReconnectMs?: number | undefined;
  /** If set, the channel speaks TLS. If it contains a client certificate, TLS is mutual. */
  readonly tls?: ClientTls | undefined;
  readonly verify?: Verify | undefined;
  /**
   * The IP address of the host to connect to. Default: the result of the system's name resolution,
   * and with grpc-js the proxy in the environment.
   */
  readonly ip?: string | undefined;
}

/**
 * Makes a server listen.
 * @param drain closes the server: lets calls finish for this number of milliseconds, then ends them
 * @throws {Error} (rejects) when it cannot listen on the address; the message names the address
 */
export async function listen(
  listener: Server,
  address: GrpcTarget,
  dispatcher: Dispatcher,
  drain: (drainMs: number) => Promise<void>,
): Promise<GrpcServer> {
  await new Promise<void>((resolve, reject) => {
    listener.once("error", (cause) =>
      reject(new Error(`cannot listen on ${formatGrpcTarget(address)}: ${cause.message}`, { cause })),
    );
    listener.listen({ ...address }, resolve);
  });
  let connections = 0;
  listener.on("connection", (socket) => {
    connections++;
    socket.once("close", () => connections--);
  });
  let closing: Promise<void> | undefined;
  return {
    get connections() {
      return connections;
    },
    address:
      "path" in address
        ? { host: address.path, port: 0 }
        : { host: address.host, port: (listener.address() as AddressInfo).port },
    close(drainMs) {
      dispatcher.stop();
      closing ??= drain(drainMs);
      return closing;
    },
  };
}

export const DEFAULT_MAX_BODY = 4 * 2 ** 20;

/**
 * The first and the longest pause before a failed connection is tried again, in milliseconds. The
 * pause doubles with each failure.
 */
export const RECONNECT_MS = 100;
export const MAX_RECONNECT_MS = 5_000;

/** The maximum number of a channel's calls that wait for a connection. */
export const MAX_WAITING = 4_096;

/**
 * After this time, in milliseconds, a server's connection accepts no new calls, so clients resolve
 * names again and find new servers. Calls that are open on it may continue: a registration is a
 * stream for as long as a service lives.
 */
export const MAX_CONNECTION_AGE_MS = 30 * 60_000;

/**
 * A server sends a PING on a connection that was silent for `after`, and closes it when no response
 * comes within `timeout`. Milliseconds.
 */
export const SERVER_KEEPALIVE = { after: 60_000, timeout: 20_000 } as const;
