/**
 * The channel over @grpc/grpc-js. It works below that library's clients, on the Call that they too are made of: bytes in
 * and out, all four shapes the same, and each message asked for, which is what makes `pause` exact.
 */
import { connectivityState, credentials, Channel as GrpcJsChannel, type Metadata as GrpcMetadata } from "@grpc/grpc-js";
import { formatAddress, formatGrpcTarget, type GrpcTarget } from "../../address.js";
import type { Certificates } from "../../certificates.js";
import type { Config } from "../../config.js";
import { Code } from "../../errors.js";
import { brokenOff, ErrorCode, notGrpc, statusOfHttp } from "../../http2/errors.js";
import type { Call, CallListener, CallStart, Channel, Status, Verify } from "../channel.js";
import { isGrpc } from "../http2/headers.js";
import { type Indexed, IndexedList } from "../indexed-list.js";
import { protocolError, status } from "../status.js";
import { asBuffer, fromGrpc, fromGrpcStatus, toGrpc } from "./metadata.js";
import { CUT_SHORT, UNKNOWN_FLAG } from "./strict.js";

type GrpcJsCall = ReturnType<GrpcJsChannel["createCall"]>;

export interface GrpcChannelOptions {
  /** Most bytes of a message received. */
  readonly maxBody?: Config["maxBody"] | undefined;
  /** The longest pause before a connection that failed is tried again, in milliseconds; default 5 s. */
  readonly maxReconnectMs?: number | undefined;
  /** With it TLS is spoken; its own certificate makes it mutual. */
  readonly tls?: Certificates | undefined;
  /** Asked after each READY. A connection that comes while a call is being started may carry it unasked. */
  readonly verify?: Verify | undefined;
  /** Of the host's addresses the one to connect to; default is what the system finds. */
  readonly ip?: string | undefined;
}

/** After a connection was found of no use, until it is asked again; in milliseconds. */
const VERIFY_RETRY_MS = 1_000;
const MAX_WAITING = 4_096;

const DEFAULT_MAX_BODY = 4 * 2 ** 20;

/** A connection found silent for this long is tested, and given up when it stays silent; in milliseconds. */
const KEEPALIVE_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 5_000;

/** How soon a lost connection is tried again, in milliseconds: at first, and at most. */
const RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 5_000;

const STATES = {
  [connectivityState.IDLE]: "idle",
  [connectivityState.CONNECTING]: "connecting",
  [connectivityState.READY]: "ready",
  [connectivityState.TRANSIENT_FAILURE]: "broken",
  [connectivityState.SHUTDOWN]: "closed",
} as const;

export class GrpcChannel implements Channel {
  readonly #channel: GrpcJsChannel;
  readonly #open = new IndexedList<GrpcCall>();
  #closed = false;
  readonly #verify: Verify | undefined;
  /** Of the connection that is READY. */
  #verified: "no" | "asked" | "yes" | "refused" = "no";
  /** Calls that wait until the connection is verified. */
  #waiting: { readonly call: GrpcCall; readonly start: CallStart }[] = [];
  #retry: NodeJS.Timeout | undefined;

  /** Connects at once, so that the first call finds out little later than the second. */
  constructor(
    target: GrpcTarget,
    { maxBody = DEFAULT_MAX_BODY, maxReconnectMs = MAX_RECONNECT_MS, tls, verify, ip }: GrpcChannelOptions = {},
  ) {
    const named = "path" in target ? formatGrpcTarget(target) : formatAddress(target);
    const where = "path" in target || ip === undefined ? named : formatAddress({ host: ip, port: target.port });
    const { ca = null, cert = null, key = null } = tls ?? {};
    const how = tls === undefined ? credentials.createInsecure() : credentials.createSsl(ca, key, cert);
    this.#channel = new GrpcJsChannel(where, how, {
      "grpc.max_receive_message_length": maxBody,
      "grpc.keepalive_time_ms": KEEPALIVE_MS,
      "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
      "grpc.initial_reconnect_backoff_ms": RECONNECT_MS,
      "grpc.min_reconnect_backoff_ms": RECONNECT_MS,
      "grpc.max_reconnect_backoff_ms": maxReconnectMs,
      // One connection pool a channel: closing one must not leave its connection to another.
      "grpc.use_local_subchannel_pool": 1,
      "grpc.service_config_disable_resolution": 1,
      "grpc.enable_channelz": 0,
      // Whatever address is connected to, the certificate is for the name.
      ...(where === named ? {} : { "grpc.default_authority": named }),
      ...(where === named || "path" in target ? {} : { "grpc.ssl_target_name_override": target.host }),
    });
    this.#verify = verify;
    if (verify === undefined) this.#channel.getConnectivityState(true);
    else this.#followState(verify);
  }

  get state(): Channel["state"] {
    if (this.#closed) return "closed";
    const state = STATES[this.#channel.getConnectivityState(false)];
    if (state !== "ready" || this.#verify === undefined || this.#verified === "yes") return state;
    return this.#verified === "refused" ? "broken" : "connecting";
  }

  /** Has each connection verified that becomes READY. */
  #followState(verify: Verify): void {
    if (this.#closed) return;
    const state = this.#channel.getConnectivityState(true);
    if (state !== connectivityState.READY) {
      this.#verified = "no";
      clearTimeout(this.#retry);
      if (state === connectivityState.TRANSIENT_FAILURE) this.#failWaiting();
    } else if (this.#verified === "no") {
      void this.#ask(verify);
    }
    this.#channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, () => this.#followState(verify));
  }

  async #ask(verify: Verify): Promise<void> {
    this.#verified = "asked";
    const unverified: Channel = {
      open: (start, listener) => this.#start(new GrpcCall(listener, this.#open), start),
      state: "ready",
      close() {},
    };
    let same = false;
    let usable = true;
    try {
      same = await verify(unverified);
    } catch {
      usable = false;
    }
    // It may have been lost meanwhile, and another one be READY.
    if (this.#closed || this.#verified !== "asked") return;
    if (usable) this.#verified = "yes";
    else this.#refuse(verify);
    if (same) for (const { call, start } of this.#waiting.splice(0)) this.#start(call, start);
    else this.#failWaiting();
  }

  #refuse(verify: Verify): void {
    this.#verified = "refused";
    this.#retry = setTimeout(() => this.#ask(verify), VERIFY_RETRY_MS);
    this.#retry.unref();
  }

  #failWaiting(): void {
    for (const { call } of this.#waiting.splice(0)) call.fail(unreachable());
  }

  #start(call: GrpcCall, start: CallStart): GrpcCall {
    call.start(this.#channel, start);
    return call;
  }

  open(start: CallStart, listener: CallListener): Call {
    const call = new GrpcCall(listener, this.#open);
    if (this.#closed) call.fail(status(Code.UNAVAILABLE, "the channel is closed", { neverSent: true }));
    else if (this.#verify === undefined || this.state === "ready") call.start(this.#channel, start);
    else if (this.state === "broken" || this.#waiting.length >= MAX_WAITING) call.fail(unreachable());
    else {
      call.expireAt(start.deadline);
      this.#waiting.push({ call, start });
    }
    return call;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#waiting = [];
    for (const call of this.#open) call.fail(status(Code.UNAVAILABLE, "the channel was closed"));
    this.#channel.close();
  }
}

class GrpcCall implements Call, Indexed {
  index = -1;
  readonly #listener: CallListener;
  readonly #open: IndexedList<GrpcCall>;
  #call: GrpcJsCall | undefined;
  /** grpc-js takes one message at a time: the others, and the half-close, wait here. */
  readonly #waiting: Uint8Array[] = [];
  #sending = false;
  #halfClosed = false;
  /** A `send` has returned false. */
  #full = false;
  #paused = false;
  /** A message has been asked for. */
  #reading = false;
  /** A message that had been asked for when the caller paused; and the OK that must not overtake it. */
  #held: Uint8Array | undefined;
  #heldStatus: Status | undefined;
  #ended = false;
  /** What is wrong with the response's content type. */
  #notGrpc: string | undefined;
  #expiry: NodeJS.Timeout | undefined;

  constructor(listener: CallListener, open: IndexedList<GrpcCall>) {
    this.#listener = listener;
    this.#open = open;
    open.add(this);
  }

  /** For as long as it has not been started. */
  expireAt(deadline: number | undefined): void {
    if (deadline === undefined) return;
    this.#expiry = setTimeout(() => this.fail(late()), Math.max(deadline - Date.now(), 0));
  }

  start(channel: GrpcJsChannel, start: CallStart): void {
    clearTimeout(this.#expiry);
    if (this.#ended) return;
    let metadata: GrpcMetadata;
    try {
      metadata = toGrpc(start.metadata);
    } catch (error) {
      this.fail(status(Code.INTERNAL, `the metadata cannot be sent: ${(error as Error).message}`));
      return;
    }
    this.#call = channel.createCall(start.path, start.deadline ?? Number.POSITIVE_INFINITY, null, null, null);
    this.#call.start(metadata, {
      onReceiveMetadata: (headers) => {
        if (this.#ended) return;
        const [type] = headers.get("content-type") as string[];
        if (isGrpc(type)) this.#listener.onHeaders?.(fromGrpc(headers));
        else this.#notGrpc = notGrpc(type);
      },
      onReceiveMessage: (message: Buffer) => {
        if (this.#ended) return;
        if (this.#notGrpc !== undefined) this.#drop();
        else if (this.#paused) this.#held = message;
        else this.#take(message);
      },
      onReceiveStatus: (received) => {
        const errorCode = received.code === 0 ? undefined : resetOf(received.details);
        if (errorCode === undefined) this.#onStatus(fromGrpcStatus(received));
        else this.#onReset(errorCode, received.code as number, channel, start.deadline);
      },
    });
    this.#read();
    this.#flush();
  }

  send(message: Uint8Array): boolean {
    if (this.#ended || this.#halfClosed) return true;
    this.#waiting.push(message);
    this.#flush();
    this.#full = this.#waiting.length > 0;
    return !this.#full;
  }

  end(): void {
    if (this.#halfClosed) return;
    this.#halfClosed = true;
    if (!this.#sending && this.#waiting.length === 0) this.#call?.halfClose();
  }

  cancel(): void {
    this.fail(status(Code.CANCELLED, "Cancelled"));
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    if (this.#held === undefined) this.#read();
    else queueMicrotask(() => this.#release());
  }

  /** Ends the call from this side. */
  fail(why: Status): void {
    if (this.#ended) return;
    this.#close();
    this.#call?.cancelWithStatus(Code.CANCELLED as number, "Cancelled");
    queueMicrotask(() => this.#listener.onEnd(why));
  }

  #onStatus(received: Status): void {
    const how = localized(received, this.#notGrpc);
    if (this.#held !== undefined && how.code === Code.OK) this.#heldStatus = how;
    else this.#end(how);
  }

  /** Node tells a stream of a lost connection as of a reset, and before it tells the connection. */
  #onReset(errorCode: number, code: Code, channel: GrpcJsChannel, deadline = Number.POSITIVE_INFINITY): void {
    setImmediate(() => {
      if (channel.getConnectivityState(false) !== connectivityState.READY) this.#end(status(Code.UNAVAILABLE, LOST));
      else if (this.#notGrpc !== undefined) this.#end(protocolError(Code.UNKNOWN, this.#notGrpc));
      else if (errorCode === ErrorCode.NO_ERROR) this.#end(statusOfHttp(200));
      else if (errorCode === ErrorCode.CANCEL && Date.now() >= deadline) this.#end(late());
      else this.#end(protocolError(code, brokenOff(errorCode)));
    });
  }

  /** A message of a response that is not gRPC's. */
  #drop(): void {
    this.#reading = false;
    this.#read();
  }

  #take(message: Uint8Array): void {
    this.#reading = false;
    this.#listener.onMessage(message);
    this.#read();
  }

  #release(): void {
    const message = this.#held;
    if (message === undefined || this.#paused || this.#ended) return;
    this.#held = undefined;
    this.#take(message);
    if (this.#heldStatus !== undefined) this.#end(this.#heldStatus);
  }

  #read(): void {
    if (this.#paused || this.#reading || this.#ended) return;
    this.#reading = true;
    this.#call?.startRead();
  }

  #flush(): void {
    if (this.#sending || this.#call === undefined) return;
    const message = this.#waiting.shift();
    if (message === undefined) {
      if (this.#halfClosed) this.#call?.halfClose();
      return;
    }
    this.#sending = true;
    this.#call?.sendMessageWithContext({ callback: () => process.nextTick(() => this.#sent()) }, asBuffer(message));
  }

  #sent(): void {
    this.#sending = false;
    if (this.#ended) return;
    this.#flush();
    if (!this.#full || this.#waiting.length > 0) return;
    this.#full = false;
    this.#listener.onDrain?.();
  }

  #end(how: Status): void {
    if (this.#ended) return;
    this.#close();
    this.#listener.onEnd(how);
  }

  #close(): void {
    this.#ended = true;
    clearTimeout(this.#expiry);
    this.#open.delete(this);
    this.#waiting.length = 0;
  }
}

const LOST = "the connection to the service was lost";

const HTTP_STATUS = /^Received HTTP status code (\d+)$/;
const RESET = /^Received RST_STREAM with code (\d+)/;

/** What grpc-js says of resets for which it has other words, with their HTTP/2 errors. */
const RESETS: ReadonlyMap<string, number> = new Map([
  ["Call cancelled", ErrorCode.CANCEL],
  ["Bandwidth exhausted or memory limit exceeded", ErrorCode.ENHANCE_YOUR_CALM],
  ["Protocol not secure enough", ErrorCode.INADEQUATE_SECURITY],
]);

/** The HTTP/2 error of a call that ended with a reset of its stream, NO_ERROR where the stream just ended. */
function resetOf(details: string): number | undefined {
  const code = RESETS.get(details) ?? RESET.exec(details)?.[1];
  return code === undefined ? undefined : Number(code);
}

function unreachable(cause?: Error): Status {
  return status(Code.UNAVAILABLE, "the service cannot be reached", { neverSent: true, cause });
}

function late(): Status {
  return status(Code.DEADLINE_EXCEEDED, "Deadline exceeded");
}

/** What grpc-js, or grpc-strict.ts, says of messages that cannot be read. */
const UNREADABLE =
  /^(Received message |Received compressed message |Compression method not supported|Failed to decompress )/;

/**
 * What grpc-js itself says of a failure names addresses of the inside, which are not for callers. Its words also are the
 * only sign by which a call that never left, and a peer that broke the protocol, are known; the contract suite and
 * test/cases/broken-answers.ts hold them to it.
 */
function localized(ended: Status, otherType: string | undefined): Status {
  const { code, message } = ended;
  if (code === Code.DEADLINE_EXCEEDED && message.startsWith("Deadline exceeded after")) return late();
  if (code === Code.UNAVAILABLE) {
    if (/^(No connection established|Name resolution failed|Stream refused by server)/.test(message)) {
      return unreachable(new Error(message));
    }
    if (/^(Connection dropped|read E|write E)/.test(message)) return { ...ended, message: LOST };
  }
  const httpStatus = HTTP_STATUS.exec(message)?.[1];
  if (httpStatus !== undefined && (httpStatus !== "200" || otherType === undefined)) {
    return { ...statusOfHttp(Number(httpStatus)), trailers: ended.trailers };
  }
  if (otherType !== undefined) return protocolError(Code.UNKNOWN, otherType);
  if (UNREADABLE.test(message)) return protocolError(code, "a message is too large, or not as it should be compressed");
  if (message === CUT_SHORT || UNKNOWN_FLAG.test(message)) return protocolError(code, message);
  return ended;
}
