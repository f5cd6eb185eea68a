/**
 * Failed logins in the audit trail. A client that reaches the gateway can fail to log in as often as it likes, so what
 * is written must not grow with that: in a minute, one entry of the log for each account and address and ten in all, at
 * once; all other failures are counted, and written as one entry when the minute is over.
 *
 * People type passwords and paste tokens into the field of the account. So a name is written only where an account has it:
 * of all others there is the address alone.
 *
 * The login is answered without waiting for any of this, and guards have nothing to wait for: no decision changes.
 */
import type { Logger } from "pino";
import { networkOf } from "../../../src/address/client-address.js";
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import type { LoginsFailed } from "../../../src/gen/portico/auth/log/v1/log.js";
import { UNKNOWN_ACCOUNT } from "../log/audit/audit-records.js";
import { type Journal, PORTICO } from "../log/changelog/journal.js";

/** How long further failures are counted before they are written, in milliseconds. */
export const WINDOW_MS = 60_000;
/** What stands in the log for a namespace that does not exist. */
const UNKNOWN_NAMESPACE = "unknown namespace";
/** Most entries a minute that name an account and an address. */
export const MAX_NAMED = 10;

interface Options {
  readonly journal: Pick<Journal, "state" | "commit">;
  readonly log: Logger;
}

interface Window {
  readonly timer: NodeJS.Timeout;
  /** Each account and address that has its entry. */
  readonly named: Set<string>;
  /** How many more logins failed, by namespace. */
  readonly others: Map<string, number>;
}

/** Writes failed logins to the audit trail, within bounds. */
export class FailedLogins {
  readonly #journal: Options["journal"];
  readonly #log: Logger;
  /** The minute that began with the first failure. */
  #window: Window | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor({ journal, log }: Options) {
    this.#journal = journal;
    this.#log = log;
  }

  /**
   * @param requestId of the request, by which its line in the gateway's log is found
   * @param refused by the slowdown, before the password was checked. Such attempts cost a client next to nothing, so they
   *   have no line in the log of their own.
   */
  add(
    login: { namespace: string; account: string; address: string; requestId: string | undefined },
    { refused = false } = {},
  ): void {
    const { address, requestId } = login;
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

  /** Resolves when all of them are written, or could not be. */
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
