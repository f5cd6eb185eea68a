/** Usage, `portico usage`: how many calls each endpoint gets. */
import { Option } from "commander";
import type { AccountUsage, Calls, EndpointUsage, KeyUsage } from "../../src/api/types.js";
import { serviceNames } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { parseDuration } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { type Column, printList } from "../terminal/output.js";
import type { Noun } from "./noun.js";
import { exportUsage } from "./usage-export.js";

const CALL_COLUMNS: readonly Column<{ readonly calls: Calls }>[] = [
  ["Calls", ({ calls }) => calls.total],
  ["OK", ({ calls }) => calls.ok],
  ["400", ({ calls }) => calls.badRequest],
  ["401", ({ calls }) => calls.unauthorized],
  ["403", ({ calls }) => calls.forbidden],
  ["404", ({ calls }) => calls.notFound],
  ["429", ({ calls }) => calls.tooManyRequests],
  ["Other 4xx", ({ calls }) => calls.otherClientErrors],
  ["5xx", ({ calls }) => calls.serverErrors],
  ["Median", ({ calls }) => `${Number(calls.medianMs.toPrecision(2))} ms`],
];

/** An entry without a name adds up all endpoints, accounts or keys that have too few calls. */
const ENDPOINTS: readonly Column<EndpointUsage>[] = [
  ["Service", ({ service }) => service || "all others"],
  ["Endpoint", ({ endpoint }) => endpoint],
  ...CALL_COLUMNS,
];
const ACCOUNTS: readonly Column<AccountUsage>[] = [
  ["Account", ({ account }) => account || "all others"],
  ...CALL_COLUMNS,
];
const KEYS: readonly Column<KeyUsage>[] = [
  ["Key", ({ key }) => key || "all others"],
  ["Account", ({ account }) => account],
  ...CALL_COLUMNS,
];

interface Options {
  readonly span?: string;
  readonly by: "endpoint" | "account" | "key";
}

/** `portico auth export usage` */
export const usageNoun: Noun = { export: exportUsage };

export const usage = gatewayCommand({
  usage: "usage [service]",
  summary: "list how much each endpoint is called over HTTP",
  examples: [
    "portico usage                  all services but auth and registry",
    "portico usage auth --span 7d",
    "portico usage --by key         which API keys call, and what they get",
  ],
  options: [
    new Option("--span <time>", "how far back, 1m to 30d (default 1h)").argParser(parseDuration),
    new Option("--by <what>", "a row for each of these").choices(["endpoint", "account", "key"]).default("endpoint"),
  ],
  formats: ["json", "yaml"],
  completion: [serviceNames],
  async run({ io, client, output }, service: string | undefined, { span, by }: Options) {
    if (by !== "endpoint" && service !== undefined) {
      const reason = "Calls are counted by service, or by account and key: leave out the service or --by";
      throw new CommandError(reason, EXIT.usage);
    }
    const { endpoints, accounts, keys } = await client.ask("auth/Usage/List", { service, span });
    if (by === "account") await printList(io, output, accounts, ACCOUNTS);
    else if (by === "key") await printList(io, output, keys, KEYS);
    else await printList(io, output, endpoints, ENDPOINTS);
  },
});
