/** `portico usage`: how much each endpoint is called. */
import { type Command, Option } from "commander";
import { clientCommand, connect } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { duration } from "../terminal/options.js";
import { type Column, outputOption, printList } from "../terminal/output.js";

/** portico.auth.v1.EndpointUsage; whole numbers are text in JSON. */
interface EndpointUsage {
  /** Empty, as its endpoint, for what was too little called to be kept apart. */
  readonly service: string;
  readonly endpoint: string;
  readonly calls: {
    readonly total: string;
    readonly clientErrors: string;
    readonly serverErrors: string;
    readonly medianMs: number;
  };
}

const COLUMNS: readonly Column<EndpointUsage>[] = [
  ["Service", ({ service }) => service || "all others"],
  ["Endpoint", ({ endpoint }) => endpoint],
  ["Calls", ({ calls }) => calls.total],
  ["Client errors", ({ calls }) => calls.clientErrors],
  ["Server errors", ({ calls }) => calls.serverErrors],
  ["Median", ({ calls }) => `${Number(calls.medianMs.toPrecision(2))} ms`],
];

export function usage(io: Io): Command {
  const command = clientCommand("usage [service]", "list how much each endpoint is called over HTTP", [
    new Option("--span <time>", "how far back, 1m to 30d (default 1h)").argParser(duration),
    outputOption(["json", "yaml"]),
  ]);
  examples(
    command,
    "portico usage                  all services but auth and registry",
    "portico usage auth --span 7d",
  );
  return command.action(async (service: string | undefined, { span }: { span?: string }) => {
    const { client, output } = connect(io, command);
    const { endpoints } = await client.authority<{ endpoints: EndpointUsage[] }>("Usage/List", { service, span });
    await printList(io, output, endpoints, COLUMNS);
  });
}
