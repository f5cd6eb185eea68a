/**
 * Connections of a port that takes the PROXY protocol, until the header with the client's address
 * has been read. Only trusted proxies may send the header. The header is limited in bytes and in
 * time.
 */
import type { Socket } from "node:net";
import type { TrustedProxies } from "../../src/address/client-address.js";
import type { Config } from "../../src/config/config.js";
import type { Logger } from "../../src/log.js";
import { Peer } from "./peer.js";
import { beginsProxyHeader, type ProxyHeader, readBeginning } from "./proxy-protocol.js";

export interface ProxiedOptions {
  /** `accept`: a connection may begin with the header; `require`: it must. */
  readonly mode: Exclude<Config["proxyProtocol"], "none">;
  readonly proxies: TrustedProxies;
  /** The peer of a connection without a PROXY header. */
  readonly peerOf: (socket: Socket) => Peer;
  /** Maximum time for the header, in milliseconds. */
  readonly headerTime: number;
  readonly log: Pick<Logger, "warn">;
  /** Receives a paused connection, without its PROXY header. */
  readonly onPeer: (socket: Socket, peer: Peer) => void;
}

export class ProxiedConnections {
  readonly #options: ProxiedOptions;
  readonly #waiting = new Set<Socket>();

  constructor(options: ProxiedOptions) {
    this.#options = options;
  }

  accept(socket: Socket): void {
    const { mode, proxies, headerTime, peerOf } = this.#options;
    const direct = peerOf(socket);
    const isTrusted = proxies.has(direct.address);
    socket.on("error", () => {}); // The event "close" follows.
    if (mode === "require" && !isTrusted) {
      this.#refuse(
        socket,
        "it is not from an address in PORTICO_TRUSTED_PROXIES, which PORTICO_PROXY_PROTOCOL requires",
      );
      return;
    }
    this.#waiting.add(socket);
    let received: Buffer = NOTHING;
    const onData = (chunk: Buffer): void => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const beginning = this.#read(socket, received, isTrusted);
      if (beginning === undefined) return;
      stop();
      socket.pause();
      if (received.length > beginning.length) socket.unshift(received.subarray(beginning.length));
      this.#options.onPeer(socket, this.#peerOf(direct, beginning));
    };
    const onEnd = (): void => {
      // A load balancer that only checks whether the port is open sends nothing.
      if (received.length > 0) this.#refuse(socket, "it ended before its PROXY header did");
      else socket.destroy();
    };
    const onTimeout = (): void => {
      if (this.#waiting.has(socket)) this.#refuse(socket, `its PROXY header did not arrive within ${headerTime} ms`);
    };
    // Timers run before sockets are read. After this process was blocked, the header may already be
    // waiting in the socket.
    const timeout = setTimeout(() => setImmediate(onTimeout), headerTime);
    const stop = (): void => {
      clearTimeout(timeout);
      this.#waiting.delete(socket);
      socket.off("data", onData).off("end", onEnd).off("close", stop);
    };
    socket.on("data", onData).on("end", onEnd).on("close", stop);
  }

  /** Closes the connections whose header has not arrived. */
  close(): void {
    for (const socket of this.#waiting) socket.destroy();
  }

  /** @returns undefined while more bytes must come, and where the connection is refused */
  #read(socket: Socket, received: Buffer, isTrusted: boolean): ProxyHeader | undefined {
    if (!isTrusted && beginsProxyHeader(received)) {
      this.#refuse(socket, "it has a PROXY header, but is not from an address in PORTICO_TRUSTED_PROXIES");
      return undefined;
    }
    try {
      const beginning = readBeginning(received);
      if (beginning?.length !== 0 || this.#options.mode === "accept") return beginning;
      this.#refuse(socket, "it has no PROXY header, which PORTICO_PROXY_PROTOCOL requires");
    } catch (error) {
      this.#refuse(socket, `its PROXY header ${(error as SyntaxError).message}`);
    }
    return undefined;
  }

  #peerOf(direct: Peer, { length, source }: ProxyHeader): Peer {
    if (length === 0) return direct;
    return source === undefined ? Peer.unnamed(direct.address) : Peer.named(source, this.#options.proxies);
  }

  #refuse(socket: Socket, reason: string): void {
    this.#waiting.delete(socket);
    this.#options.log.warn({ address: socket.remoteAddress }, `a connection to the HTTP port was closed: ${reason}`);
    socket.destroy();
  }
}

const NOTHING = Buffer.alloc(0);
