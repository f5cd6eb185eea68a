/**
 * A transport speaks gRPC between processes. There are two, with the same options and the same behaviour as far as
 * test/contract/channel.ts describes it: `http2/`, which is Portico's own, and `grpc-js/`. load-transport.ts chooses.
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
   * Listens; with a certificate over TLS, and with a certificate authority for clients that show a certificate of it.
   * @throws {Error} (rejects) when the address cannot be had; the message names it.
   */
  serve(dispatcher: Dispatcher, address: Address): Promise<GrpcServer>;
  connect(target: GrpcTarget, options?: Pick<ChannelOptions, "maxReconnectMs" | "verify" | "ip">): Channel;
}

export interface GrpcServer {
  /** Where it listens; the port is the one that was free when 0 was asked for. Of a unix socket its path, and port 0. */
  readonly address: Address;
  /** Takes no more calls, lets those in flight finish for `drainMs`, then ends them. Resolves when all is closed. */
  close(drainMs: number): Promise<void>;
}

export type ServerLimits = Pick<Config, "maxBody" | "maxHeaders" | "maxConnections" | "headerTime" | "keepAlive">;

export interface ServerOptions {
  /** With it TLS is spoken; with `ca` clients must show a certificate of that authority. */
  readonly tls?: Certificates | undefined;
  /** Of this process; default one of its own. */
  readonly budget?: MemoryBudget | undefined;
}

export interface ChannelOptions {
  /** Maximum bytes of a message received; default 4 MiB. */
  readonly maxBody?: number | undefined;
  /** The longest pause before a connection that failed is tried again, in milliseconds; default 5 s. */
  readonly maxReconnectMs?: number | undefined;
  /** With it TLS is spoken; its own certificate makes it mutual. */
  readonly tls?: Certificates | undefined;
  readonly verify?: Verify | undefined;
  /** Of the host's addresses the one to connect to; default is what the system finds. */
  readonly ip?: string | undefined;
}

/**
 * Has a server listen.
 * @param drain closes it: lets calls finish for a time in milliseconds, then ends them
 * @throws {Error} (rejects) when the address cannot be had; the message names it
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
  let closing: Promise<void> | undefined;
  return {
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

/** The pause before a connection that failed is tried again, in milliseconds: at first, doubled each time, and at most. */
export const RECONNECT_MS = 100;
export const MAX_RECONNECT_MS = 5_000;

/** Calls of a channel that may wait for a connection. */
export const MAX_WAITING = 4_096;

/**
 * After this time a server's connection takes no new calls, in milliseconds, so that clients look up names again and find
 * new servers. Calls on it end in their own time: a registration is a stream for as long as a service lives.
 */
export const MAX_CONNECTION_AGE_MS = 30 * 60_000;

/** A server tests a connection that was silent for `after` with a PING, and closes it without an answer; milliseconds. */
export const SERVER_KEEPALIVE = { after: 60_000, timeout: 20_000 } as const;
