/** What `portico restore` says before it asks, and at its end. */

import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { LostChange, StoreFacts } from "../../services/auth/backup.js";
import type { Config } from "../../src/config/config.js";
import type { BackupHeader } from "../../src/store/backup-file.js";
import type { StoreKind } from "../../src/store/store.js";

import { visible } from "../terminal/text.js";

/** What is known of the store that is replaced. */
export interface OldStore {
  readonly state: "absent" | "readable" | "unreadable";
  /** Whether it can be locked. A damaged file may be beyond that. */
  readonly canLock: boolean;
  /** The ID of the installation; undefined if nothing tells it. */
  readonly installation: string | undefined;
  /** Changes that the backup lacks, newest first. */
  readonly missing: readonly LostChange[];
  /** The longest time that a guard may still decide by it, in milliseconds. */
  readonly span: number;
}

/** A restore, as it was asked for. */
export interface Order {
  readonly kind: StoreKind;
  readonly config: Config;
  /** The file of the store. */
  readonly store: string;
  /** The backup's file. */
  readonly file: string;
  readonly asCopy: boolean;
  readonly keepsLogins: boolean;
}

/** Maximum number of changes that are listed one by one. */
const MAX_LISTED = 20;
/** Actions that take something away, or replace it: what they took away comes back. */
const TAKES_AWAY = /deleted|revoked|shortened|disabled|ended|signed out|logged out|removed|changed|set\b/;
/** Actions that may be there a thousand times, and that need no decision. */
const ROUTINE = /^(?:logged in|login failed|signed in)/;

/** What will be valid again, and what is lost. */
export function plan(order: Order, header: BackupHeader, old: OldStore): string {
  const { kind, store, file, asCopy } = order;
  const revision = header.revision === undefined ? "" : `, revision ${header.revision}`;
  const of = header.installation === undefined ? "" : `, of installation ${header.installation}`;
  const lines = [`Backup ${file}`, `made ${header.time}${revision}${of}`, `replaces ${store}`, ""];
  if (kind === "services")
    lines.push("What services wrote after the backup is lost, and what they deleted since is there again.");
  else if (!asCopy) lines.push(...changesSince(old), "", ...validAgain(order));
  if (asCopy)
    lines.push("It becomes another installation. Accounts, keys and enrolments of the original are valid in it too.");
  if (old.state !== "absent") lines.push("The old store stays beside it, under another name.");
  return `${lines.join("\n")}\n`;
}

function changesSince({ state, missing }: OldStore): string[] {
  if (state !== "readable") return ["Changes after the backup are lost. The old store cannot tell which."];
  const told = missing.filter(({ action }) => !ROUTINE.test(action));
  const routine = missing.length - told.length;
  const back = told.filter(({ action }) => TAKES_AWAY.test(action));
  const lost = told.filter(({ action }) => !TAKES_AWAY.test(action));
  if (missing.length === 0) return ["The store has no change that the backup lacks."];
  return [
    ...listed("Undone, so what they took away is valid again", back),
    ...listed("Lost", lost),
    ...(routine === 0 ? [] : [`Lost: ${routine} records of logins.`]),
  ];
}

function listed(title: string, records: readonly LostChange[]): string[] {
  if (records.length === 0) return [];
  const lines = records.slice(0, MAX_LISTED).map(({ revision, time, actor, action, subject }) => {
    const at = new Date(time).toISOString().slice(0, 16);
    return visible(`  ${revision}  ${at}Z  ${actor}  ${action} ${subject}`);
  });
  const more = records.length - lines.length;
  return [`${title}:`, ...lines, ...(more === 0 ? [] : [`  and ${more} more`])];
}

function validAgain({ keepsLogins }: Order): string[] {
  const logins = keepsLogins
    ? "Logins, page sessions and grants in the backup stay valid, also those that were ended since (--keep-logins)."
    : "Logins, page sessions and grants end: all sign in again. (--keep-logins keeps the backup's.)";
  return ["API keys, passwords and enrolments are valid as they were in the backup, also those revoked since.", logins];
}

interface Done {
  /** The name of the old store. */
  readonly kept: string | undefined;
  readonly restored: StoreFacts | undefined;
}

/** What was done, and what to do next. */
export function done({ kind, store, asCopy }: Order, { kept, restored }: Done): string {
  const revision = restored === undefined ? "" : `, now at revision ${restored.revision}`;
  const lines = [`Restored ${store}${revision}.`];
  if (kept !== undefined) lines.push(`The old store is ${kept}`);
  if (asCopy && restored !== undefined) lines.push(`It is installation ${restored.installation}.`);
  if (process.getuid?.() === 0 && statSync(store).uid === 0) {
    lines.push(`It belongs to root. If Portico runs as another user: chown -R USER: ${dirname(store)}`);
  }
  if (kept === undefined)
    lines.push("If a process runs that used the store before, stop it: it does not see this one.");
  lines.push(
    kind === "services"
      ? "Start the services."
      : "Start Portico, and check what is valid again: docs/deploying.md#after-a-restore has the list.",
  );
  return `${lines.join("\n")}\n`;
}
