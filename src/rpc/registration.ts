/**
 * Keeps an instance of a service registered at the registry. The registration lasts as long as its
 * stream is open, and the stream is opened again when it breaks. Each reason for a failure is
 * logged once, however often it repeats.
 */
import type { Logger } from "pino";
import type { Metadata } from "../call/metadata.js";
import { ConfigError } from "../config/setting.js";
import { Code, StatusError } from "../errors.js";
import { follow } from "../follow.js";
import { type Instance, type RegisterResponse, RegistryService } from "../gen/portico/registry/v1/registry.js";
import type { Channel } from "./channel.js";
import { stream } from "./client.js";

/** The maximum time until the registry responds, in milliseconds. */
const RESPONSE_TIME_MS = 10_000;
/**
 * Pauses between attempts, in milliseconds: FIRST_RETRY after the first failure, then longer ones
 * up to MAX_RETRY (see follow.ts).
 */
const FIRST_RETRY = 100;
const MAX_RETRY = 5_000;

/** The instance to register, and the registry. */
export interface RegistrationOptions {
  /** A channel to the registry. */
  readonly channel: Channel;
  /** The metadata with the service's enrolment token, `["authorization", "Bearer pte_…"]`. */
  readonly metadata: Metadata;
  readonly instance: Instance;
  /**
   * Resolves when the instance can serve calls. Then it registers, and gateways begin to call it.
   * Default: at once. The log line `registered` reports the store in which its data is.
   */
  readonly ready?: Promise<{ readonly store?: string } | undefined>;
  readonly log: Logger;
}

/** An instance that is kept registered. */
export interface Registration {
  /**
   * Resolves when the instance is registered for the first time. Failures are logged, and the
   * registration is tried again.
   * @throws {StatusError} CANCELLED when the registration is closed before
   * @throws {ConfigError} when the registry refuses the instance until its settings or other
   * instances change
   */
  registered(): Promise<void>;
  close(): void;
}

/** Keeps the instance registered until the registration is closed. */
export function register(options: RegistrationOptions): Registration {
  const { instance, ready = Promise.resolve(undefined) } = options;
  const log = options.log.child({ service: instance.service, id: instance.id });
  const closing = new AbortController();
  let onRegistered: () => void = () => {};
  let onRefused: (error: ConfigError) => void = () => {};
  const registered = new Promise<void>((resolve, reject) => {
    onRegistered = resolve;
    onRefused = reject;
    closing.signal.addEventListener("abort", () => reject(registrationClosed()));
  });
  // The rejection is for code that calls `registered`. When no code does, it is not an error.
  registered.catch(() => {});
  const reported = new Set<string>();
  const keep = (details: { readonly store?: string } | undefined) =>
    follow({
      source: "the registry",
      attempt: ({ signal, responded }) =>
        holdStream(options, signal, ({ problems }) => {
          responded();
          log.info({ addresses: instance.addresses, ...details }, "registered");
          for (const problem of problems.filter((problem) => !reported.has(problem))) {
            reported.add(problem);
            log.warn({ problem }, "the service is registered, and not served as declared");
          }
          onRegistered();
        }),
      onFailure({ error, repeated }) {
        if (error instanceof StatusError && error.code === Code.FAILED_PRECONDITION) {
          onRefused(new ConfigError(error.message));
        }
        if (!repeated) log.warn({ reason: error.message }, "not registered; trying again");
      },
      timeoutMs: RESPONSE_TIME_MS,
      firstDelayMs: FIRST_RETRY,
      maxDelayMs: MAX_RETRY,
      signal: closing.signal,
    });
  void ready.then(keep, () => {}); // An instance that never becomes ready never registers.
  return { registered: () => registered, close: () => closing.abort() };
}

/** The error for code that waits for a registration that was closed. */
export function registrationClosed(): StatusError {
  return new StatusError(Code.CANCELLED, "the registration was closed");
}

/** Registers the instance. Resolves or rejects when the registry ends the stream. */
async function holdStream(
  { channel, metadata, instance }: RegistrationOptions,
  signal: AbortSignal,
  onResponse: (response: RegisterResponse) => void,
): Promise<void> {
  const call = stream(channel, RegistryService.register, { metadata, signal });
  call.send({ instance });
  for await (const response of call.responses) onResponse(response);
}
