/**
 * Opens channels to external services. A service whose options name files gets a channel that shows
 * it the credential with each call, and uses the service's own TLS. The files are read again when
 * they change, and at each connection. While one cannot be used, the calls to the service fail as
 * if it could not be reached.
 */
import { setMaxListeners } from "node:events";
import { formatGrpcTarget, type GrpcTarget } from "../address/address.js";
import type { Metadata } from "../call/metadata.js";
import { SecretFileError } from "../config/secret-files.js";
import { onFileChange } from "../file-changes.js";
import type { Logger } from "../log.js";
import type { CallListener, CallStart, Channel, OutgoingCall, Verify } from "../rpc/channel.js";
import { channelClosed, unreachable } from "../rpc/status.js";
import type { ConnectOptions, ServiceTls, Transport } from "../rpc/transport.js";
import { loopbackOf, readServiceSecrets, type SecretOptions, secretFilesOf } from "./service-secrets.js";

/** An external service, and what an administrator has set for it. */
export interface ConnectedService {
  readonly service: string;
  readonly options: SecretOptions;
}

export type ConnectExternal = (target: GrpcTarget, to: ConnectedService, options?: ConnectOptions) => Channel;

/** The maximum number of targets whose problems are remembered. */
const MAX_REPORTED = 1_000;

/**
 * @param credentials the folder PORTICO_CREDENTIALS
 * @param log gets each reason once why the files of a service cannot be used; undefined if the
 * caller reports why its calls fail
 */
export function externalConnector({
  credentials,
  transport,
  log,
}: {
  readonly credentials: string | undefined;
  readonly transport: Pick<Transport, "connect">;
  readonly log?: Logger;
}): ConnectExternal {
  const report = log === undefined ? () => {} : reportTo(log);
  return (target, { service, options }, connectOptions = {}) => {
    if (options.credential === undefined && options.tls === undefined) return transport.connect(target, connectOptions);
    return new ExternalChannel({
      target,
      connect: (more) => transport.connect(target, { ...connectOptions, ...more }),
      verify: connectOptions.verify,
      read: () => readServiceSecrets(credentials, options, target),
      files: secretFilesOf(credentials, options),
      hasCredential: options.credential !== undefined,
      report: (problem) => report(service, formatGrpcTarget(target), problem?.message),
    });
  };
}

/** @returns a function that logs a reason if it is another one than the last time */
function reportTo(log: Logger) {
  const reported = new Map<string, string>();
  return (service: string, target: string, reason: string | undefined): void => {
    const key = `${service} ${target}`;
    if (reported.get(key) === reason) return;
    if (reported.size >= MAX_REPORTED) reported.clear();
    const about = { service, target };
    if (reason === undefined) {
      reported.delete(key);
      log.info(about, "the credential and the certificates of a configured service can be used again");
    } else {
      reported.set(key, reason);
      log.warn({ ...about, reason }, "a configured service is not called: its credential or certificates are unusable");
    }
  };
}

interface ExternalChannelOptions {
  readonly target: GrpcTarget;
  readonly connect: (options: Pick<ConnectOptions, "verify" | "tls" | "ip">) => Channel;
  /** As in ConnectOptions. Its calls show the credential too. */
  readonly verify: Verify | undefined;
  /** @throws {SecretFileError} */
  readonly read: () => ReturnType<typeof readServiceSecrets>;
  /** The files to watch. */
  readonly files: readonly string[];
  readonly hasCredential: boolean;
  readonly report: (problem: SecretFileError | undefined) => void;
}

class ExternalChannel implements Channel {
  readonly #options: ExternalChannelOptions;
  readonly #closing = new AbortController();
  /** Undefined until the files could be used once: no connection without them. */
  #channel: Channel | undefined;
  #shown: Metadata[number] | undefined;
  #tls: ServiceTls | undefined;
  #problem: SecretFileError | undefined;

  constructor(options: ExternalChannelOptions) {
    this.#options = options;
    const { signal } = this.#closing;
    setMaxListeners(0, signal);
    for (const file of options.files) onFileChange(file, () => this.#read(), signal);
    this.#read();
  }

  get target(): GrpcTarget {
    return this.#options.target;
  }

  get state(): Channel["state"] {
    if (this.#closing.signal.aborted) return "closed";
    return this.#problem === undefined && this.#channel !== undefined ? this.#channel.state : "broken";
  }

  open(start: CallStart, listener: CallListener): OutgoingCall {
    const problem = this.#closing.signal.aborted ? undefined : this.#problem;
    if (problem === undefined && this.#channel !== undefined)
      return this.#channel.open(this.#withCredential(start), listener);
    queueMicrotask(() => listener.onEnd(problem === undefined ? channelClosed() : unreachable(problem)));
    return ENDED;
  }

  connectSoon(): void {
    this.#channel?.connectSoon?.();
  }

  close(): void {
    this.#closing.abort();
    this.#channel?.close();
  }

  #read(): void {
    if (this.#closing.signal.aborted) return;
    try {
      const { shown, tls } = this.#options.read();
      this.#shown = shown;
      this.#tls = tls;
      this.#problem = undefined;
    } catch (error) {
      if (!(error instanceof SecretFileError)) throw error;
      this.#problem = error;
    }
    this.#options.report(this.#problem);
    if (this.#problem === undefined) this.#channel ??= this.#connect();
  }

  #connect(): Channel {
    const { target, connect, hasCredential } = this.#options;
    const current = (): ServiceTls | undefined => this.#tls;
    const tls = current() === undefined ? {} : { tls: liveTls(current) };
    const isPlain = !("tls" in target);
    const ip = hasCredential && isPlain ? loopbackOf(target) : undefined;
    const pinned = ip === undefined ? {} : { ip };
    return connect({ ...tls, ...pinned, verify: (connection) => this.#verify(connection) });
  }

  /** Reads the files again, because calls may have waited for this connection. */
  async #verify(connection: Channel): Promise<boolean> {
    this.#read();
    if (this.#problem !== undefined) throw this.#problem;
    const { verify } = this.#options;
    if (verify === undefined) return true;
    return verify({
      open: (start, listener) => connection.open(this.#withCredential(start), listener),
      get state() {
        return connection.state;
      },
      close: () => connection.close(),
    });
  }

  /** Metadata of the caller with the same name is not sent. */
  #withCredential(start: CallStart): CallStart {
    const shown = this.#shown;
    if (shown === undefined) return start;
    return { ...start, metadata: [...start.metadata.filter(([name]) => name !== shown[0]), shown] };
  }
}

/** Each connection uses the files as they were read last. */
function liveTls(current: () => ServiceTls | undefined): ServiceTls {
  const { servername } = current() ?? {};
  return {
    get ca() {
      return current()?.ca;
    },
    get cert() {
      return current()?.cert;
    },
    get key() {
      return current()?.key;
    },
    ...(servername === undefined ? {} : { servername }),
  };
}

/** A call that has ended. */
const ENDED: OutgoingCall = { send: () => true, end() {}, cancel() {}, pause() {}, resume() {} };
