/**
 * The state of one watch on the directory: what is to be sent, and how much its watcher has
 * confirmed.
 */
import type { StatusError } from "../../src/errors.js";
import type { WatchRequest } from "../../src/gen/portico/registry/v1/registry.js";

export interface Watch {
  /** Keys of instances, in the order of their last change. */
  readonly changed: Set<string>;
  /** Services whose gRPC names have changed. */
  readonly owners: Set<string>;
  failure: StatusError | undefined;
  wake: () => void;
  /** How many messages were sent. */
  sent: number;
  /** How many of them the watcher has applied. */
  confirmed: number;
  /** Whether the watcher confirms messages. One that has ended its requests does not. */
  confirms: boolean;
  /** Called after each message, each confirmation, and the end. */
  readonly listeners: Set<() => void>;
}

/** A watch that must still send the instances with these keys, and the names of these services. */
export function createWatch(keys: Iterable<string>, owners: Iterable<string>): Watch {
  return {
    changed: new Set(keys),
    owners: new Set(owners),
    failure: undefined,
    wake: () => {},
    ...{ sent: 0, confirmed: 0, confirms: true, listeners: new Set() },
  };
}

/** Whether there is nothing to send. */
export function isIdle({ changed, owners, failure }: Watch): boolean {
  return changed.size === 0 && owners.size === 0 && failure === undefined;
}

export function fail(watch: Watch, failure: StatusError): void {
  watch.failure = failure;
  watch.changed.clear();
  watch.wake();
}

/** Takes the confirmations of a watcher until it sends no more. */
export async function followConfirmations(watch: Watch, requests: AsyncIterable<WatchRequest>): Promise<void> {
  try {
    for await (const { confirmed } of requests) {
      watch.confirmed = Number(confirmed);
      report(watch);
    }
  } catch {
    // The call has ended, which the watch itself sees.
  }
  watch.confirms = false;
  report(watch);
}

/**
 * Resolves with true when the watcher has applied the changes until now of the instances whose keys
 * begin with `start`, or has left; with false when the signal is aborted before.
 */
export function confirmedBy(watch: Watch, start: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    let last: number | undefined;
    const end = (result: boolean) => {
      watch.listeners.delete(check);
      signal.removeEventListener("abort", giveUp);
      resolve(result);
    };
    const giveUp = () => end(false);
    const check = () => {
      if (last === undefined && ![...watch.changed].some((key) => key.startsWith(start))) last = watch.sent;
      if (!watch.confirms || (last !== undefined && watch.confirmed >= last)) end(true);
    };
    watch.listeners.add(check);
    signal.addEventListener("abort", giveUp);
    check();
  });
}

export function report({ listeners }: Watch): void {
  for (const listener of [...listeners]) listener();
}
