import { setTimeout } from "node:timers/promises";
import {
  type Call,
  failedPrecondition,
  type Implementation,
  invalidArgument,
  notFound,
  resourceExhausted,
} from "portico/service";
import type { Ticket, TicketsService } from "./gen/tickets.js";

const MAX_TITLE = 200;
const MAX_TICKETS = 1_000_000;
/** Maximum number of tickets that List returns and that Watch follows. */
const NEWEST = 100;
/**
 * The interval in which Watch looks for changes, in milliseconds. It asks the store, because
 * another instance of the service may have made them.
 */
const POLL_MS = 500;

/** The handlers: one function for each endpoint in proto/tickets.proto. */
export const handlers: Implementation<typeof TicketsService> = {
  async create({ title }, call) {
    if (title === "" || title.length > MAX_TITLE)
      throw invalidArgument(`title: must have 1 to ${MAX_TITLE} characters`);
    const number = await countersOf(call).increment("tickets", 1, { max: MAX_TICKETS });
    if (number === undefined) throw resourceExhausted(`There are ${MAX_TICKETS} tickets, which is the limit`);
    const ticket: Ticket = { number, title, author: call.caller?.account ?? "", closed: false };
    await save(call, ticket);
    return ticket;
  },

  async list({ before }, call) {
    const after = before === 0 ? undefined : keyOf(before);
    const { entries } = await ticketsOf(call).range({ after, limit: NEWEST, reverse: true });
    return { tickets: entries.map(({ value }) => value) };
  },

  async close({ number }, call) {
    const entry = await ticketsOf(call).getEntry(keyOf(number));
    if (entry === undefined) throw notFound(`There is no ticket ${number}`);
    const closed: Ticket = { ...entry.value, closed: true };
    // If two callers close it at the same time, the store refuses the second write, because the
    // version has changed.
    if (entry.value.closed || !(await save(call, closed, entry.version)))
      throw failedPrecondition(`Ticket ${number} is closed already`);
    return closed;
  },

  async *watch(_request, call) {
    /** The version of each ticket that was last sent, by key. */
    let sent = new Map<string, string>();
    let seen: number | undefined;
    while (!call.signal.aborted) {
      const changes = (await countersOf(call).get("changes")) ?? 0;
      if (changes !== seen) {
        const { entries } = await ticketsOf(call).range({ limit: NEWEST, reverse: true });
        for (const { key, version, value } of entries.toReversed()) if (sent.get(key) !== version) yield value;
        sent = new Map(entries.map(({ key, version }) => [key, version]));
        seen = changes;
      }
      await setTimeout(POLL_MS);
    }
  },
};

function ticketsOf(call: Call) {
  return call.store<Ticket>("tickets");
}

function countersOf(call: Call) {
  return call.store<number>("counters");
}

/** Keys are sorted as text, so numbers need leading zeros. */
function keyOf(number: number): string {
  return `${number}`.padStart(10, "0");
}

/**
 * Writes a ticket and counts the change, in one transaction.
 * @param ifVersion write only if the ticket has this version
 * @returns whether it was written
 */
async function save(call: Call, ticket: Ticket, ifVersion?: string): Promise<boolean> {
  const { committed } = await ticketsOf(call).commit([
    { set: keyOf(ticket.number), value: ticket, ifVersion },
    { increment: "changes", by: 1, collection: "counters" },
  ]);
  return committed;
}
