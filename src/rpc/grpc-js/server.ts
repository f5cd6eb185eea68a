/**
 * Serves a dispatcher over @grpc/grpc-js. Every endpoint is registered there as a stream of bytes.
 * An interceptor takes each call over before grpc-js creates a Node stream for it. So Portico uses
 * only the library's protocol code, and asks for each message itself.
 *
 * The requests that endpoints hold and the responses that wait are reserved in the memory budget. A
 * message that has arrived only in part is not, because grpc-js does not show it.
 */
import type { Http2SecureServer } from "node:http2";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import {
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type StatusObject,
} from "@grpc/grpc-js";
import type { Address } from "../../address/address.js";
import { peerAddressOf } from "../../address/client-address.js";
import { type Metadata, NO_METADATA } from "../../call/metadata.js";
import type { Certificates } from "../../config/certificates.js";
import { Code } from "../../errors.js";
import { MAX_STREAMS } from "../../http2/server-connection.js";
import { type ConnectionMemory, MemoryBudget } from "../../memory/memory-budget.js";
import { fromWallClock } from "../../time.js";
import { asBuffer } from "../../wire/buffer.js";
import type { CallResponder, IncomingListener, Status } from "../channel.js";
import type { Dispatcher } from "../dispatch.js";
import { MAX_QUEUED_BYTES, MAX_QUEUED_MESSAGES } from "../message-queue.js";
import { NO_MEMORY, status } from "../status.js";
import {
  type GrpcServer,
  listen,
  MAX_CONNECTION_AGE_MS,
  SERVER_KEEPALIVE,
  type ServerLimits,
  type ServerOptions,
} from "../transport.js";
import { fromGrpc, toGrpc, toGrpcStatus } from "./convert.js";

/** Listens, as `Transport.serve` specifies. */
export function serveGrpc(
  dispatcher: Dispatcher,
  address: Address,
  limits: ServerLimits,
  { tls, budget = new MemoryBudget(limits) }: ServerOptions = {},
): Promise<GrpcServer> {
  const memories = new Map<string, ConnectionMemory>();
  const server = new Server({
    interceptors: [
      (method, call) =>
        new ServerInterceptingCall(call, {
          start: () => serveCall(dispatcher, limits, method, call, memories.get(call.getPeer())),
        }),
    ],
    "grpc.max_receive_message_length": limits.maxBody,
    "grpc.max_concurrent_streams": MAX_STREAMS,
    "grpc.max_connection_age_ms": MAX_CONNECTION_AGE_MS,
    "grpc.max_connection_idle_ms": limits.keepAlive,
    "grpc.keepalive_time_ms": SERVER_KEEPALIVE.after,
    "grpc.keepalive_timeout_ms": SERVER_KEEPALIVE.timeout,
    "grpc.enable_channelz": 0,
  });
  const same = (bytes: Buffer): Buffer => bytes;
  for (const { path, requestStream } of dispatcher.methods) {
    server.register(path, unusedHandler, same, same, requestStream ? "bidi" : "serverStream");
  }
  const connections = new Connections(server, limits.maxConnections, tls, budget, memories);
  return listen(connections.listener, address, dispatcher, (drainMs) => connections.drain(drainMs));
}

/**
 * The sockets of a grpc-js server. grpc-js does not limit their number, and does not close all of
 * them at a forced shutdown.
 */
class Connections {
  readonly #server: Server;
  readonly listener: NetServer;
  readonly #sockets = new Set<Socket>();

  /**
   * @param memories memory accounts of the open connections, by the `getPeer` value of their calls
   */
  constructor(
    server: Server,
    maxConnections: number,
    tls: Certificates | undefined,
    budget: MemoryBudget,
    memories: Map<string, ConnectionMemory>,
  ) {
    const injector = server.createConnectionInjector(credentialsOf(tls));
    const servers = serversOf(server);
    showEveryToken(servers);
    tls?.onChange?.(() => {
      for (const each of servers) each.setSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key });
    });
    this.#server = server;
    this.listener = createServer({ noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      const address = socket.remoteAddress ?? "unknown";
      const peer = `${address}:${socket.remotePort}`;
      const memory = budget.open(address);
      memories.set(peer, memory);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        memories.delete(peer);
        memory.close();
      });
      injector.injectConnection(socket);
    });
    this.listener.maxConnections = maxConnections;
  }

  async drain(drainMs: number): Promise<void> {
    const closed = new Promise((resolve) => this.listener.close(resolve));
    let force: NodeJS.Timeout | undefined;
    const forced = new Promise<void>((resolve) => {
      force = setTimeout(() => {
        for (const socket of this.#sockets) socket.destroy();
        resolve();
      }, drainMs);
    });
    // `tryShutdown` waits forever for a connection that fails during the shutdown.
    await Promise.race([new Promise((resolve) => this.#server.tryShutdown(resolve)), forced]);
    await closed;
    clearTimeout(force);
  }
}

function credentialsOf(tls: Certificates | undefined): ServerCredentials {
  if (tls?.cert === undefined || tls.key === undefined) return ServerCredentials.createInsecure();
  return ServerCredentials.createSsl(
    tls.ca ?? null,
    [{ cert_chain: tls.cert, private_key: tls.key }],
    tls.ca !== undefined,
  );
}

/** The servers of Node to which connections are given; with TLS they are secure ones. */
function serversOf(server: Server): readonly Http2SecureServer[] {
  // grpc-js gives no access to the raw headers, and takes no other certificates later.
  const { http2Servers } = server as unknown as { readonly http2Servers: ReadonlyMap<Http2SecureServer, unknown> };
  return [...http2Servers.keys()];
}

/**
 * Shows the dispatcher every authorization header, so it can refuse a request that has two.
 * node:http2 shows only the first value of such a header.
 */
function showEveryToken(servers: readonly Http2SecureServer[]): void {
  for (const http2Server of servers) {
    http2Server.prependListener(
      "stream",
      (_stream: unknown, headers: object, _flags: number, raw: readonly string[]) => {
        const tokens = raw.filter((_, index) => raw[index - 1] === "authorization" && index % 2 === 1);
        if (tokens.length > 1) Object.assign(headers, { authorization: tokens });
      },
    );
  }
}

/** The handler of each endpoint. The interceptor never calls it. */
function unusedHandler(): never {
  throw new Error("a call went past the interceptor");
}

function serveCall(
  dispatcher: Dispatcher,
  { maxHeaders }: ServerLimits,
  { path, requestStream }: { readonly path: string; readonly requestStream: boolean },
  call: ServerInterceptingCallInterface,
  memory: ConnectionMemory | undefined,
): void {
  const reply = new GrpcReply(call, memory);
  call.start({
    onReceiveMetadata(received) {
      const metadata = fromGrpc(received);
      if (sizeOf(metadata) > maxHeaders) {
        reply.end(status(Code.RESOURCE_EXHAUSTED, `the metadata is larger than ${maxHeaders} bytes`));
        return;
      }
      const deadlineMonotonicMs = Number(call.getDeadline());
      const start = {
        path,
        metadata,
        deadlineMonotonicMs: Number.isFinite(deadlineMonotonicMs) ? fromWallClock(deadlineMonotonicMs) : undefined,
      };
      reply.endpoint = dispatcher.open(start, hostOf(call.getPeer()), reply);
      reply.read();
    },
    onReceiveMessage: (message: Buffer) => reply.received(message),
    onReceiveHalfClose() {
      // A client that uses node:http2 half-closes before it cancels. The endpoint must not take
      // that for a complete stream.
      if (requestStream) setImmediate(() => reply.endpoint?.onEnd());
      else reply.endpoint?.onEnd();
    },
    onCancel: () => reply.closed(),
  });
}

/**
 * Bytes of a header list (RFC 9113, section 6.5.2). Binary values count with their size before
 * base64. grpc-js itself has no limit.
 */
function sizeOf(metadata: Metadata): number {
  return metadata.reduce((size, [name, value]) => size + name.length + value.length + 32, 0);
}

/** Returns `127.0.0.1` for `127.0.0.1:4711`. */
function hostOf(peer: string): string {
  const remoteAddress = peer.replace(/:\d+$/, "");
  return peerAddressOf({ remoteAddress }) ?? remoteAddress;
}

class GrpcReply implements CallResponder {
  endpoint: IncomingListener | undefined;
  readonly #call: ServerInterceptingCallInterface;
  /** Undefined when the connection has ended. */
  readonly #memory: ConnectionMemory | undefined;
  #reserved = 0;
  /** Bytes of messages that the endpoint holds. */
  #heldBytes = 0;
  /** Messages that the connection has not sent yet. */
  #unsentMessages = 0;
  #unsentBytes = 0;
  #full = false;
  #paused = false;
  /** A message was asked for and has not arrived. */
  #reading = false;
  #ended = false;
  #closed = false;

  constructor(call: ServerInterceptingCallInterface, memory: ConnectionMemory | undefined) {
    this.#call = call;
    this.#memory = memory;
  }

  /**
   * The stream has closed, with a response or without one: grpc-js stores nothing for it any more.
   */
  closed(): void {
    this.#memory?.release(this.#reserved);
    this.#reserved = 0;
    this.#closed = true;
    this.endpoint?.onCancel();
  }

  /**
   * Reserves the bytes that the call holds now. Ends the call when they do not fit into the budget.
   */
  #reserve(): void {
    if (this.#memory === undefined || this.#closed) return;
    const held = this.#heldBytes + this.#unsentBytes;
    if (this.#memory.tryResize(this.#reserved, held)) {
      this.#reserved = held;
      return;
    }
    this.end(NO_MEMORY);
    queueMicrotask(() => this.endpoint?.onCancel());
  }

  sendHeaders(metadata: Metadata): void {
    if (!this.#ended) this.#call.sendMetadata(toGrpc(metadata));
  }

  send(message: Uint8Array): boolean {
    if (this.#ended) return true;
    this.#unsentMessages++;
    this.#unsentBytes += message.length;
    this.#reserve();
    if (this.#ended) return true;
    this.#call.sendMessage(asBuffer(message), () => this.#sent(message.length));
    this.#full = this.#unsentMessages >= MAX_QUEUED_MESSAGES || this.#unsentBytes >= MAX_QUEUED_BYTES;
    return !this.#full;
  }

  end(ending: Status): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#call.sendStatus(sendable(ending));
  }

  pause(): void {
    this.#paused = true;
  }

  /** The endpoint has taken all messages that it was given. */
  resume(): void {
    this.#paused = false;
    this.#heldBytes = 0;
    this.#reserve();
    this.read();
  }

  read(): void {
    if (this.#reading) return;
    this.#reading = true;
    this.#call.startRead();
  }

  received(message: Buffer): void {
    this.#reading = false;
    this.#heldBytes += message.length;
    this.endpoint?.onMessage(message);
    this.#reserve();
    if (!this.#paused) this.read();
  }

  #sent(bytes: number): void {
    this.#unsentMessages--;
    this.#unsentBytes -= bytes;
    this.#reserve();
    if (!this.#full || this.#unsentMessages > 0) return;
    this.#full = false;
    this.endpoint?.onDrain();
  }
}

/** The status, without its trailers when these cannot be sent. */
function sendable(ending: Status): StatusObject {
  try {
    return toGrpcStatus(ending);
  } catch {
    return toGrpcStatus({ ...ending, trailers: NO_METADATA });
  }
}
