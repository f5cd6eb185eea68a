/** Serves a dispatcher over Portico's HTTP/2, on TCP or a Unix socket, with or without TLS. */
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { GrpcTarget } from "../../address/address.js";
import { peerAddressOf } from "../../address/client-address.js";
import type { Certificates } from "../../config/certificates.js";
import { ALPN } from "../../http2/frames.js";
import { MemoryBudget } from "../../memory/memory-budget.js";
import type { Dispatcher } from "../dispatch.js";
import { type GrpcServer, listen, MAX_CONNECTION_AGE_MS, type ServerLimits, type ServerOptions } from "../transport.js";
import { GrpcServerConnection } from "./server-connection.js";

interface Http2ServerOptions extends ServerOptions {
  /**
   * The age at which a connection is drained, in milliseconds, varied by a tenth. Default:
   * MAX_CONNECTION_AGE_MS.
   */
  readonly maxConnectionAge?: number | undefined;
}

/** How long a client may read nothing of a complete response, in milliseconds. */
const STALL_MS = 30_000;
/** How often an open stream is checked for a client that reads nothing, in milliseconds. */
const STALL_CHECK_MS = 60_000;

/** The maximum time of a client's TLS handshake, in milliseconds. */
const TLS_MS = 10_000;

/** Listens, as `Transport.serve` specifies. */
export function serveHttp2(
  dispatcher: Dispatcher,
  address: GrpcTarget,
  limits: ServerLimits,
  options: Http2ServerOptions = {},
): Promise<GrpcServer> {
  const connections = new Connections(dispatcher, limits, options);
  return listen(connections.listener, address, dispatcher, (drainMs) => connections.drain(drainMs));
}

class Connections {
  readonly listener: Server;
  readonly #sockets = new Set<Socket>();
  readonly #connections = new Set<GrpcServerConnection>();

  constructor(dispatcher: Dispatcher, limits: ServerLimits, options: Http2ServerOptions) {
    const { tls, maxConnectionAge, budget = new MemoryBudget(limits) } = options;
    const accept = (socket: Socket): void => {
      // Varied, so connections that were opened together are not all reopened together.
      const maxAge = (maxConnectionAge ?? MAX_CONNECTION_AGE_MS) * (0.9 + Math.random() * 0.2);
      const times = { maxAge, stallTime: STALL_MS, stallCheck: STALL_CHECK_MS };
      const address = peerAddressOf(socket) ?? "unix";
      const connection = new GrpcServerConnection(socket, address, dispatcher, limits, times, budget.open(address));
      this.#connections.add(connection);
      socket.once("close", () => this.#connections.delete(connection));
    };
    this.listener = tls === undefined ? createServer({ noDelay: true }, accept) : createSecureServer(tls, accept);
    this.listener.maxConnections = limits.maxConnections;
    // All TCP sockets, also while their TLS handshake is not complete.
    this.listener.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  async drain(drainMs: number): Promise<void> {
    const closed = new Promise((resolve) => this.listener.close(resolve));
    const force = setTimeout(() => this.#destroy(), drainMs);
    // Without time to drain, GOAWAY would be useless.
    if (drainMs > 0) for (const connection of this.#connections) connection.drain();
    else this.#destroy();
    await closed;
    clearTimeout(force);
  }

  #destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

function createSecureServer(tls: Certificates, accept: (socket: Socket) => void): Server {
  const mutual = tls.ca !== undefined;
  const server = createTlsServer(
    {
      ...tls,
      noDelay: true,
      ALPNProtocols: [ALPN],
      handshakeTimeout: TLS_MS,
      requestCert: mutual,
      rejectUnauthorized: mutual,
    },
    (socket: TLSSocket) => {
      if (socket.alpnProtocol === ALPN) accept(socket);
      else socket.destroy();
    },
  );
  tls.onChange?.(() => server.setSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key }));
  // TLS itself has already sent an alert to the client.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  return server;
}
