/**
 * Makes changes for the endpoints. A change that affects decisions resolves when it is in force at
 * every guard. A call may wait between its admission and its change, for a password to be hashed or
 * for other changes. So the caller's permissions are checked again together with the change.
 */

import type { KnownCaller } from "../../../../src/access/callers/known-caller.js";
import { AdminPart, administers } from "../../../../src/contract/admin-parts.js";
import { failedPrecondition, permissionDenied, unauthenticated } from "../../../../src/errors.js";
import type { AuditRecord } from "../../../../src/gen/portico/auth/v1/audit.js";
import { trailOf } from "../audit/audit-records.js";
import type { Leases } from "../leases/leases.js";
import type { State } from "../state/state.js";
import type { Author, Decide } from "./decide.js";
import { type Journal, unavailable } from "./journal.js";

/** Who makes a change by a call. */
export interface CallAuthor extends Author {
  /** The caller as admitted. */
  readonly caller: KnownCaller;
}

/** Makes changes to the state for the endpoints. */
export class Changes {
  readonly #journal: Journal;
  readonly #leases: Leases;

  constructor({ journal, leases }: { journal: Journal; leases: Leases }) {
    this.#journal = journal;
    this.#leases = leases;
  }

  get state(): State {
    return this.#journal.state;
  }

  get now(): number {
    return this.#journal.now;
  }

  /** Ensures that the state includes every change that was acknowledged before this call. */
  sync(): Promise<void> {
    return this.#journal.sync();
  }

  /**
   * Makes a change that affects decisions. When this resolves, no guard decides without it.
   * @throws {StatusError} UNAUTHENTICATED or PERMISSION_DENIED if the caller's token or permissions
   *   were revoked since the admission.
   */
  async make(author: CallAuthor, decide: Decide): Promise<void> {
    await this.settled(await this.issue(author, decide));
  }

  /**
   * Makes a change that revokes nothing, such as a new token. Returns its revision once it is on
   * disk.
   * @param author the author of the call; without `caller` before a login
   * @throws {StatusError} as `make`.
   */
  issue(author: CallAuthor | Author, decide: Decide): Promise<number> {
    return this.#journal.commit(author, (state, now) => {
      if ("caller" in author) checkStill(author.caller, state, now);
      return decide(state, now);
    });
  }

  /**
   * Must be called before a change that creates a restriction (src/access/decide/restrictions.ts).
   * @param what the thing that is created, for the message
   * @throws {StatusError} FAILED_PRECONDITION while a guard with a lease does not understand
   *   restrictions of the kind.
   */
  async checkRestriction(kind: string, what: string): Promise<void> {
    await this.sync();
    // Already in force: a guard that does not understand it gets no lease.
    if (this.state.restrictions.includes(kind)) return;
    const lacking = await this.#leases.lacking(kind);
    if (lacking.length === 0) return;
    throw failedPrecondition(
      `${what} cannot be created while this runs in a version that does not understand ${kind}: ${lacking.join(", ")}. ` +
        "Upgrade it, or stop it, and try again once its lease has run out",
    );
  }

  /**
   * The newest records of a namespace's audit trail, newest first.
   * @throws {StatusError} UNAVAILABLE when the store fails.
   */
  async records(namespace: string, page: { before?: bigint | undefined; limit: number }): Promise<AuditRecord[]> {
    const found = this.state.namespaces.get(namespace);
    if (found === undefined) return [];
    try {
      return await this.#journal.audit.list(trailOf(found), page);
    } catch (error) {
      throw unavailable(error);
    }
  }

  settled(revision: number): Promise<void> {
    return this.#leases.settled(revision);
  }
}

const PARTS = [AdminPart.WHOLE, AdminPart.RULES, AdminPart.ACCOUNTS, AdminPart.KEYS, AdminPart.AUDIT];

/**
 * @throws {StatusError} unless the token is still valid, and the caller still administers what it
 * did.
 */
function checkStill(caller: KnownCaller, state: State, now: number): void {
  const current = state.callerOf(Buffer.from(caller.sha256, "hex"), now);
  if (current === undefined) {
    throw unauthenticated("The token of this call was revoked or has expired; log in again");
  }
  if (PARTS.some((part) => administers(caller, part) && !administers(current, part))) {
    throw permissionDenied(`${caller.account} is no administrator any more`);
  }
}
