/** What has been sent and answered so far. */
import type { Answer } from "./http-call.js";

export interface Entry {
  readonly id: number;
  /** Since the call began, in milliseconds. */
  readonly at: number;
  readonly sent: boolean;
  readonly text: string;
}

export interface Exchange {
  readonly state: "open" | "done" | "cancelled" | "failed";
  readonly answer: Answer | undefined;
  /** The latest ones. */
  readonly entries: readonly Entry[];
  readonly total: number;
  readonly fault: Fault | undefined;
  /** Whether messages can be sent. */
  readonly opened: boolean;
  /** Whether the caller has said that no more messages come. */
  readonly ended: boolean;
}

/** Why a call was refused or failed. */
export interface Fault {
  /** HTTP status; 0 where there is none. */
  readonly status: number;
  readonly detail: string;
  /** What somebody can do about it. */
  readonly advice: string | undefined;
}

export const NEW_EXCHANGE: Exchange = {
  state: "open",
  answer: undefined,
  entries: [],
  total: 0,
  fault: undefined,
  opened: false,
  ended: false,
};

/** Of a long stream only the end is kept: a page that held all of it would stop to answer. */
const MOST_KEPT = 500;

export function withEntries(exchange: Exchange, entries: readonly Omit<Entry, "id">[]): Exchange {
  const numbered = entries.map((entry, index) => ({ ...entry, id: exchange.total + index + 1 }));
  return {
    ...exchange,
    total: exchange.total + entries.length,
    entries: [...exchange.entries, ...numbered].slice(-MOST_KEPT),
  };
}
