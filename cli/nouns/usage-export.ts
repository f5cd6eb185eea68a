/** `portico auth export usage`: the numbers of calls as lines of JSON. */
import { Option } from "commander";
import type { Calls, ListUsageResponse } from "../../src/api/types.js";
import { CompletedOption, serviceNames } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { parseInstant } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { drained } from "../terminal/output.js";

const HOUR = 3_600_000;
/** How long the authority keeps the numbers, in milliseconds. */
const KEPT = 30 * 24 * HOUR;
const LENGTHS = { hour: HOUR, day: 24 * HOUR } as const;

interface Flags {
  readonly from?: string;
  readonly until?: string;
  readonly every?: keyof typeof LENGTHS;
  readonly by: "account" | "key" | "endpoint";
  readonly service?: string;
  readonly account?: string;
  readonly key?: string;
}

export const exportUsage = gatewayCommand({
  usage: "usage",
  summary: "print how much each account calls as lines of JSON",
  examples: [
    "portico auth export usage --from=2026-11-01 --until=2026-12-01",
    "portico auth export usage --by key --every day --from=2026-11-24",
    "portico auth export usage --by endpoint --service helloworld",
  ],
  options: [
    new Option("--from <time>", "from this time on, at most 30 days ago (default a day before the end)").argParser(
      parseInstant,
    ),
    new Option("--until <time>", "before this time (default now)").argParser(parseInstant),
    new Option("--every <length>", "a line for each of these, in UTC").choices(["hour", "day"]),
    new Option("--by <what>", "a line for each of these").choices(["account", "key", "endpoint"]).default("account"),
    new Option("--account <name>", "only the calls of this account"),
    new Option("--key <prefix>", "only the calls with the API key of this prefix"),
    new CompletedOption("--service <name>", "only the calls to this service, by endpoint", serviceNames),
  ],
  formats: [],
  async run({ io, client }, flags: Flags) {
    const { by, service, account, key } = checked(flags);
    for (const [start, end] of windowsOf(flags)) {
      const span = `${(end - start) / 1000}s`;
      const request = { start: new Date(start).toISOString(), span, service, account, key };
      for (const line of linesOf(await client.ask("auth/Usage/List", request), by)) {
        io.stdout.write(`${JSON.stringify(line)}\n`);
      }
      await drained(io);
    }
  },
});

/** @throws {CommandError} */
function checked(flags: Flags): Flags {
  const isOfCallers = flags.by !== "endpoint";
  const wrong = isOfCallers ? flags.service !== undefined : (flags.account ?? flags.key) !== undefined;
  if (!wrong) return flags;
  const remedy = isOfCallers ? "leave out --service, or give --by endpoint" : "leave out --account and --key";
  throw new CommandError(`Calls are counted by endpoint, or by account and key: ${remedy}`, EXIT.usage);
}

/**
 * The times to ask for, in milliseconds since 1970: all of it, or each hour or day.
 * @throws {CommandError}
 */
function windowsOf({ from, until, every }: Flags): [start: number, end: number][] {
  const now = Date.now();
  const end = Math.min(until === undefined ? now : Date.parse(until), now);
  const start = from === undefined ? end - 24 * HOUR : Date.parse(from);
  if (start >= end) throw new CommandError("--from must be before --until, and not in the future", EXIT.usage);
  if (every === undefined) return [[start, end]];
  const length = LENGTHS[every];
  const windows: [number, number][] = [];
  for (let at = Math.floor(start / length) * length; at < end; at += length) {
    // The first one may begin before what is kept.
    windows.push([start < now - KEPT ? at : Math.max(at, now - KEPT), at + length]);
  }
  return windows;
}

/**
 * The lines of a response. Its periods say which time it is of: they begin with a minute, an hour
 * or a day.
 */
function linesOf({ periods, period, accounts, keys, endpoints }: ListUsageResponse, by: Flags["by"]): object[] {
  const [first, last] = [periods.at(0)?.start ?? "", periods.at(-1)?.start ?? ""];
  const until = new Date(Date.parse(last) + Number.parseInt(period, 10) * 1000).toISOString();
  const time = { from: new Date(first).toISOString(), until };
  if (by === "account") return accounts.map(({ account, calls }) => ({ ...time, account, ...numbersOf(calls) }));
  if (by === "key") return keys.map(({ account, key, calls }) => ({ ...time, account, key, ...numbersOf(calls) }));
  return endpoints.map(({ service, endpoint, calls }) => ({ ...time, service, endpoint, ...numbersOf(calls) }));
}

/** The counts as numbers, and how many calls were refused: for their caller, or by a limit. */
function numbersOf({ total, medianMs, p95Ms, ok, clientErrors, serverErrors, ...statuses }: Calls): object {
  const numbers = Object.fromEntries(Object.entries(statuses).map(([name, count]) => [name, Number(count)]));
  const { unauthorized = 0, forbidden = 0, tooManyRequests = 0 } = numbers;
  const refused = unauthorized + forbidden + tooManyRequests;
  const sums = { calls: Number(total), ok: Number(ok), refused };
  return { ...sums, ...numbers, serverErrors: Number(serverErrors), medianMs, p95Ms };
}
