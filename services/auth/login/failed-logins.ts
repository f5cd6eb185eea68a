/**
 * Failed logins in the audit trail. A client can fail to log in as often as it likes, so the number
 * of log entries must be limited. In each minute, at most ten failures get an entry at once, and
 * only one for each account and address. All other failures are counted, and written as one entry
 * when the minute is over.
 *
 * People type passwords and paste tokens into the account field. So a name is recorded only if an
 * account has it; otherwise only the address is recorded.
 *
 * The response to the login does not wait for any of this. Guards need not apply the entries,
 * because no decision depends on them.
 */
import type { Logger } from "pino";
import { networkOf } from "../../../src/address/client-address.js";
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import type { LoginsFailed } from "../../../src/gen/portico/auth/log/v1/log.js";
import { UNKNOWN_ACCOUNT } from "../log/audit/audit-records.js";
import { type Journal, PORTICO } from "../log/changelog/journal.js";

/** How long further failures are counted before they are written, in milliseconds. */
export const WINDOW_MS = 60_000;
/** The name in the log for a namespace that does not exist. */
const UNKNOWN_NAMESPACE = "unknown namespace";
/** Maximum entries per minute that name an account and an address. */
export const MAX_NAMED = 10;

type FailureReason = "password" | "throttled";

interface Options {
  readonly journal: Pick<Journal, "state" | "commit">;
  readonly log: Logger;
}

interface Window {
  readonly timer: NodeJS.Timeout;
  /** The accounts and addresses that have an entry in this minute. */
  readonly named: Set<string>;
  /** How many more logins failed, by namespace. */
  readonly others: Map<string, number>;
}

/** Writes failed logins to the audit trail, with a limited number of entries. */
export class FailedLogins {
  readonly #journal: Options["journal"];
  readonly #log: Logger;
  /** The minute that began with the first failure. */
  #window: Window | undefined;
  #writing: Promise<unknown> = Promise.resolve();
  /** How many attempts failed because of a wrong password, and how many were refused unchecked. */
  readonly counts = new Map<FailureReason, number>([
    ["password", 0],
    ["throttled", 0],
  ]);

  constructor({ journal, log }: Options) {
    this.#journal = journal;
    this.#log = log;
  }

  /**
   * @param requestId the ID of the request, which is also in the gateway's log
   * @param refused by the throttle, before the password was checked. Such attempts cost a client
   *   almost nothing, so they are logged only at level debug.
   */
  add(
    login: { namespace: string; account: string; address: string; requestId: string | undefined },
    { refused = false } = {},
  ): void {
    const { address, requestId } = login;
    const reason = refused ? "throttled" : "password";
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1);
    const { state } = this.#journal;
    const exists = state.namespaces.has(login.namespace);
    const namespace = exists ? login.namespace : DEFAULT_NAMESPACE;
    const account = state.account(login.namespace, login.account)?.name ?? UNKNOWN_ACCOUNT;
    this.#log[refused ? "debug" : "warn"](
      { namespace: exists ? namespace : UNKNOWN_NAMESPACE, account, address, requestId },
      refused ? "a login was refused" : "a login failed",
    );
    this.#window ??= this.#openWindow();
    const { named, others } = this.#window;
    const key = JSON.stringify([namespace, account, networkOf(address)]);
    if (named.has(key) || named.size >= MAX_NAMED) {
      others.set(namespace, (others.get(namespace) ?? 0) + 1);
      return;
    }
    named.add(key);
    this.#write([{ namespace, account, address, count: 1n, requestId: requestId ?? "" }]);
  }

  /** Resolves when all writes have ended, even if they failed. */
  async close(): Promise<void> {
    if (this.#window !== undefined) this.#closeWindow(this.#window);
    await this.#writing;
  }

  #openWindow(): Window {
    const timer = setTimeout(() => this.#closeWindow(window), WINDOW_MS);
    const window: Window = { timer, named: new Set(), others: new Map() };
    timer.unref();
    return window;
  }

  #closeWindow({ timer, others }: Window): void {
    clearTimeout(timer);
    this.#window = undefined;
    if (others.size === 0) return;
    this.#write(
      [...others].map(([namespace, count]) => ({
        ...{ namespace, account: "", address: "", requestId: "" },
        count: BigInt(count),
      })),
    );
  }

  #write(failed: readonly LoginsFailed[]): void {
    const events = failed.map((value) => ({ $case: "loginsFailed" as const, value }));
    const writing = this.#journal
      .commit(PORTICO, () => events)
      .catch((error) => {
        this.#log.warn({ err: error }, "failed logins could not be written to the audit trail");
      });
    this.#writing = Promise.all([this.#writing, writing]);
  }
}
