/**
 * TLS at the HTTP port: HTTP/2 and HTTP/1.1 on one port, by ALPN (RFC 7301). Of several
 * certificates a client gets the one with the name that it asks for (SNI, RFC 6066 §3), or else the
 * first. Where the configuration names certificate authorities, a client must present a certificate
 * of one of them. Certificates may be replaced while the port is open. New connections get the new
 * certificates, and existing connections continue.
 */
import { constants } from "node:crypto";
import type { Socket } from "node:net";
import { createSecureContext, createServer, type SecureContext, type Server, type TLSSocket } from "node:tls";
import { type Certificates, type KeyPair, namesOf } from "../../src/config/certificates.js";
import { ALPN } from "../../src/http2/frames.js";
import { ServerNames } from "./server-names.js";

/** In order of preference. A client that offers no protocol gets HTTP/1.1. */
const PROTOCOLS = [ALPN, "http/1.1"];

/** How long a session may be resumed, in seconds. Clients store sessions as session tickets. */
const SESSION_SECONDS = 3600;

const PLAIN_TEXT = "This port speaks TLS: use https://\n";

/** The response to a client that speaks plain HTTP. */
const PLAIN_RESPONSE = [
  "HTTP/1.1 400 Bad Request",
  "Connection: close",
  "Content-Type: text/plain",
  `Content-Length: ${PLAIN_TEXT.length}`,
  "",
  PLAIN_TEXT,
].join("\r\n");

/** How long a client may take to read that response, in milliseconds. */
const LINGER_MS = 1_000;

export interface SecureServerOptions {
  readonly tls: Certificates;
  /** Maximum time for the handshake, in milliseconds. */
  readonly handshakeTime: number;
  /**
   * Receive a connection whose handshake is complete, by the negotiated protocol; `below` is its
   * TCP socket.
   */
  readonly accepts: Readonly<Record<"h2" | "http/1.1", (socket: TLSSocket, below: Socket) => void>>;
}

export interface SecureServer {
  readonly server: Server;
  /** Closes connections whose handshake is not complete. */
  closeHandshakes(): void;
}

function contextOf({ ca, cert, key }: Certificates) {
  return {
    ca,
    cert,
    key,
    minVersion: "TLSv1.2" as const,
    honorCipherOrder: true,
    // Renegotiation would let a client cause expensive handshakes again and again (RFC 9113
    // §9.2.1).
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    sessionTimeout: SESSION_SECONDS,
  };
}

/** The certificates by their names; undefined if there is only one. */
function contextsByName({ ca, cert, key, others = [] }: Certificates): ServerNames<SecureContext> | undefined {
  if (cert === undefined || key === undefined || others.length === 0) return undefined;
  const pairs: readonly KeyPair[] = [{ cert, key }, ...others];
  return new ServerNames(
    pairs.map((pair) => [namesOf(pair.cert), createSecureContext(contextOf({ ca, ...pair }))] as const),
  );
}

export function createSecureServer({ tls, handshakeTime, accepts }: SecureServerOptions): SecureServer {
  let byName = contextsByName(tls);
  const server = createServer({
    ...contextOf(tls),
    // Without a context, the client gets the first certificate.
    ...(byName && {
      SNICallback: (name: string, done: (error: null, context?: SecureContext) => void) =>
        done(null, byName?.find(name)),
    }),
    requestCert: tls.ca !== undefined,
    allowHalfOpen: true,
    noDelay: true,
    ALPNProtocols: PROTOCOLS,
    handshakeTimeout: handshakeTime,
  });
  /** TCP sockets whose handshake is not complete, by the addresses and ports of both ends. */
  const handshakes = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const ends = endsOf(socket);
    handshakes.set(ends, socket);
    socket.once("close", () => handshakes.delete(ends));
  });
  server.on("secureConnection", (socket) => {
    const ends = endsOf(socket);
    const below = handshakes.get(ends);
    handshakes.delete(ends);
    // The client has gone during the handshake.
    if (below === undefined) socket.destroy();
    else accepts[socket.alpnProtocol === ALPN ? "h2" : "http/1.1"](socket, below);
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket: ClientErrorSocket) => {
    // For other errors TLS itself has sent the client an alert.
    if (error.code === "ERR_SSL_HTTP_REQUEST") respondPlain(socket);
    else socket.destroy();
  });
  tls.onChange?.(() => {
    server.setSecureContext(contextOf(tls));
    byName = contextsByName(tls);
  });
  const closeHandshakes = (): void => {
    for (const socket of handshakes.values()) socket.destroy();
  };
  return { server, closeHandshakes };
}

/**
 * A client may use one port for connections to several addresses of this machine, as an operating
 * system does where ports are scarce.
 */
function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/**
 * A TLS socket with the TCP socket below it, which is not a part of Node's interface. If Node no
 * longer provides it, the client's connection is closed without a response.
 */
type ClientErrorSocket = TLSSocket & { readonly _parent?: Socket | null };

function respondPlain(socket: ClientErrorSocket): void {
  const { _parent: below } = socket;
  if (!below?.writable) {
    socket.destroy();
    return;
  }
  below.on("error", () => {}).end(PLAIN_RESPONSE);
  const timeout = setTimeout(() => below.destroy(), LINGER_MS);
  below.once("close", () => clearTimeout(timeout));
}
