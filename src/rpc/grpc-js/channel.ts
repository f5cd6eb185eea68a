/**
 * The channel over @grpc/grpc-js: one connection of that library, verified each time it is READY.
 */
import {
  type ChannelCredentials,
  connectivityState,
  credentials,
  experimental,
  Channel as GrpcJsChannel,
} from "@grpc/grpc-js";
import { formatAddress, formatGrpcTarget, type GrpcTarget } from "../../address/address.js";
import type { CallListener, CallStart, Channel, OutgoingCall, Verify } from "../channel.js";
import { IndexedList } from "../open-calls.js";
import { channelClosed, closedDuringCall, unreachable } from "../status.js";
import {
  type ChannelOptions,
  type ClientTls,
  DEFAULT_MAX_BODY,
  MAX_RECONNECT_MS,
  MAX_WAITING,
  RECONNECT_MS,
} from "../transport.js";
import { GrpcCall } from "./call.js";

/**
 * How long the channel waits after `verify` has rejected a connection until it calls `verify`
 * again, in milliseconds.
 */
const VERIFY_RETRY_MS = 1_000;

/**
 * A connection that was silent for KEEPALIVE_MS gets a PING. It is closed when it stays silent for
 * KEEPALIVE_TIMEOUT_MS. Milliseconds.
 */
const KEEPALIVE_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 5_000;

const STATES = {
  [connectivityState.IDLE]: "idle",
  [connectivityState.CONNECTING]: "connecting",
  [connectivityState.READY]: "ready",
  [connectivityState.TRANSIENT_FAILURE]: "broken",
  [connectivityState.SHUTDOWN]: "closed",
} as const;

export class GrpcChannel implements Channel {
  readonly target: GrpcTarget;
  readonly #channel: GrpcJsChannel;
  readonly #open = new IndexedList<GrpcCall>();
  #closed = false;
  /**
   * Called after each READY. A connection that becomes READY while a call is being started may
   * carry that call unverified.
   */
  readonly #verify: Verify | undefined;
  /** Whether the READY connection is verified. */
  #verified: "no" | "asked" | "yes" | "refused" = "no";
  #waiting: { readonly call: GrpcCall; readonly start: CallStart }[] = [];
  #retry: NodeJS.Timeout | undefined;

  /** Connects at once, so the first call waits less. */
  constructor(
    target: GrpcTarget,
    { maxBody = DEFAULT_MAX_BODY, maxReconnectMs = MAX_RECONNECT_MS, tls, verify, ip }: ChannelOptions = {},
  ) {
    this.target = target;
    const named = "path" in target ? formatGrpcTarget(target) : formatAddress(target);
    const where = "path" in target || ip === undefined ? named : formatAddress({ host: ip, port: target.port });
    const secured = tls === undefined ? credentials.createInsecure() : secureBy(tls);
    const servername = tls?.servername ?? (where === named || "path" in target ? undefined : target.host);
    this.#channel = new GrpcJsChannel(where, secured, {
      "grpc.max_receive_message_length": maxBody,
      "grpc.keepalive_time_ms": KEEPALIVE_MS,
      "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
      "grpc.initial_reconnect_backoff_ms": RECONNECT_MS,
      "grpc.min_reconnect_backoff_ms": RECONNECT_MS,
      "grpc.max_reconnect_backoff_ms": maxReconnectMs,
      // Each channel has its own connection pool: closing a channel must close its connection.
      "grpc.use_local_subchannel_pool": 1,
      "grpc.service_config_disable_resolution": 1,
      "grpc.enable_channelz": 0,
      // The certificate must be for the name, even when the connection goes to a given IP address.
      ...(where === named ? {} : { "grpc.default_authority": named }),
      ...(servername === undefined ? {} : { "grpc.ssl_target_name_override": servername }),
      ...(ip === undefined ? {} : { "grpc.enable_http_proxy": 0 }),
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
    let mayServeWaiting = false;
    let usable = true;
    try {
      mayServeWaiting = await verify(unverified);
    } catch {
      usable = false;
    }
    // Meanwhile the connection may have been lost, and another one may be READY.
    if (this.#closed || this.#verified !== "asked") return;
    if (usable) this.#verified = "yes";
    else this.#refuse(verify);
    if (mayServeWaiting) for (const { call, start } of this.#waiting.splice(0)) this.#start(call, start);
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

  open(start: CallStart, listener: CallListener): OutgoingCall {
    const call = new GrpcCall(listener, this.#open);
    if (this.#closed) call.fail(channelClosed());
    else if (this.#verify === undefined || this.state === "ready") call.start(this.#channel, start);
    else if (this.state === "broken" || this.#waiting.length >= MAX_WAITING) call.fail(unreachable());
    else {
      call.expireAt(start.deadlineMonotonicMs);
      this.#waiting.push({ call, start });
    }
    return call;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#waiting = [];
    for (const call of this.#open) call.fail(closedDuringCall());
    this.#channel.close();
  }
}

/**
 * Credentials whose certificates may change: grpc-js reads the properties of the two updates for
 * each connection. Undefined is as in tls.createSecureContext, although the types do not say so.
 */
function secureBy(tls: ClientTls): ChannelCredentials {
  const ca = {
    get caCertificate() {
      return tls.ca as Buffer;
    },
  };
  const identity = {
    get certificate() {
      return tls.cert as Buffer;
    },
    get privateKey() {
      return tls.key as Buffer;
    },
  };
  const provider: experimental.CertificateProvider = {
    addCaCertificateListener: (listener) => listener(ca),
    removeCaCertificateListener() {},
    addIdentityCertificateListener: (listener) => listener(identity),
    removeIdentityCertificateListener() {},
  };
  return experimental.createCertificateProviderChannelCredentials(provider, provider);
}
