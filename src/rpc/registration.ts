/**
 * Keeps an instance of a service registered: the open stream is its lease, and one that breaks is opened again. Each
 * state is logged once, however often it is tried.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import { Code, StatusError } from "../errors.js";
import { type Instance, RegistryService } from "../gen/portico/registry/v1/registry.js";
import type { Channel } from "./channel.js";
import { stream } from "./client.js";
import type { Metadata } from "./metadata.js";

/** How long the registry may take to answer, in milliseconds. */
const ANSWER_TIME = 10_000;
/** Between tries, in milliseconds: at first, doubled each time, and at most. The time waited is half to all of it. */
const FIRST_RETRY = 100;
const MAX_RETRY = 5_000;

export interface RegistrationOptions {
  /** To the registry. */
  readonly channel: Channel;
  /** With the enrolment token of the service's name, `["authorization", "Bearer pte_…"]`. */
  readonly metadata: Metadata;
  readonly instance: Instance;
  readonly log: Logger;
}

export interface Registration {
  /**
   * Resolves when the instance is registered for the first time. Whatever is wrong is logged and tried again.
   * @throws {StatusError} CANCELLED when closed before.
   */
  registered(): Promise<void>;
  /** Ends the registration. */
  close(): void;
}

export function register(options: RegistrationOptions): Registration {
  const closing = new AbortController();
  let onRegistered: () => void = () => {};
  const registered = new Promise<void>((resolve, reject) => {
    onRegistered = resolve;
    const closed = () => reject(new StatusError(Code.CANCELLED, "the registration was closed"));
    closing.signal.addEventListener("abort", closed);
  });
  registered.catch(() => {}); // Whoever did not ask need not know.
  void keep(options, onRegistered, closing.signal);
  return { registered: () => registered, close: () => closing.abort() };
}

async function keep(options: RegistrationOptions, onRegistered: () => void, signal: AbortSignal): Promise<void> {
  const { instance } = options;
  const log = options.log.child({ service: instance.service, id: instance.id });
  let trouble: string | undefined;
  for (let failures = 0; ; failures++) {
    const onHeld = () => {
      failures = 0;
      trouble = undefined;
      log.info({ addresses: instance.addresses }, "registered");
      onRegistered();
    };
    const reason = await hold(options, onHeld, signal);
    if (signal.aborted) return;
    if (reason !== trouble) log.warn({ reason }, "not registered; trying again");
    trouble = reason;
    const time = Math.min(MAX_RETRY, FIRST_RETRY * 2 ** failures) * (0.5 + Math.random() / 2);
    await wait(time, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
  }
}

/** Registers, and stays until the stream ends; then says why it has. */
async function hold(
  { channel, metadata, instance }: RegistrationOptions,
  onHeld: () => void,
  signal: AbortSignal,
): Promise<string> {
  const call = stream(channel, RegistryService.register, { metadata, signal });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    call.cancel();
  }, ANSWER_TIME);
  try {
    call.send({ instance });
    for await (const _held of call.responses) {
      clearTimeout(timer);
      onHeld();
    }
    return "the registry ended the registration";
  } catch (error) {
    return late ? `the registry did not answer within ${ANSWER_TIME / 1000} s` : (error as Error).message;
  } finally {
    clearTimeout(timer);
  }
}
