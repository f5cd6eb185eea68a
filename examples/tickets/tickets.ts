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
/** Maximum number of tickets that List returns, and that Watch sends first. */
const NEWEST = 100;

/** The handlers: one function for each endpoint in proto/tickets.proto. */
export const handlers: Implementation<typeof TicketsService> = {
  async create({ title }, call) {
    if (title === "" || title.length > MAX_TITLE)
      throw invalidArgument(`title: must have 1 to ${MAX_TITLE} characters`);
    const number = await countersOf(call).increment("tickets", 1, { max: MAX_TICKETS });
    if (number === undefined) throw resourceExhausted(`There are ${MAX_TICKETS} tickets, which is the limit`);
    const ticket: Ticket = { number, title, author: call.caller?.account ?? "", closed: false };
    await ticketsOf(call).set(keyOf(number), ticket);
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
    if (entry.value.closed || !(await ticketsOf(call).compareAndSet(entry.key, entry.version, closed)))
      throw failedPrecondition(`Ticket ${number} is closed already`);
    return closed;
  },

  async *watch(_request, call) {
    // The revision is read before the tickets, so no later change is missed.
    const revision = await ticketsOf(call).revision();
    const { entries } = await ticketsOf(call).range({ limit: NEWEST, reverse: true });
    for (const { value } of entries.toReversed()) yield value;
    for await (const { value } of ticketsOf(call).watch("", revision)) if (value !== undefined) yield value;
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
