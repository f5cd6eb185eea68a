/** Usage, `portico usage`: how many calls each endpoint gets. */
import { Option } from "commander";
import type { EndpointUsage } from "../../src/api/types.js";
import { serviceNames } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { parseDuration } from "../terminal/command.js";
import { type Column, printList } from "../terminal/output.js";

/**
 * An entry without service and endpoint counts the calls of all endpoints that have too few calls
 * for an entry of their own.
 */
const COLUMNS: readonly Column<EndpointUsage>[] = [
  ["Service", ({ service }) => service || "all others"],
  ["Endpoint", ({ endpoint }) => endpoint],
  ["Calls", ({ calls }) => calls.total],
  ["Client errors", ({ calls }) => calls.clientErrors],
  ["Server errors", ({ calls }) => calls.serverErrors],
  ["Median", ({ calls }) => `${Number(calls.medianMs.toPrecision(2))} ms`],
];

export const usage = gatewayCommand({
  usage: "usage [service]",
  summary: "list how much each endpoint is called over HTTP",
  examples: ["portico usage                  all services but auth and registry", "portico usage auth --span 7d"],
  options: [new Option("--span <time>", "how far back, 1m to 30d (default 1h)").argParser(parseDuration)],
  formats: ["json", "yaml"],
  completion: [serviceNames],
  async run({ io, client, output }, service: string | undefined, { span }: { span?: string }) {
    const { endpoints } = await client.ask("auth/Usage/List", { service, span });
    await printList(io, output, endpoints, COLUMNS);
  },
});
