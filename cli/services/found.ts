/** Prints what the gateway found in the contract of a service. */
import type { FoundEndpoint, PutServiceResponse } from "../../src/api/types.js";
import type { CommandConnection } from "../command/connection.js";
import { type Column, printItem, printList } from "../terminal/output.js";
import { visibleLines } from "../terminal/text.js";

const COLUMNS: readonly Column<FoundEndpoint>[] = [
  ["Endpoint", ({ resource }) => resource.slice(resource.lastIndexOf(":") + 1)],
  ["Path", ({ path }) => path],
  ["REST", ({ rest }) => rest.join(", ")],
];

/** @param done what was done, such as `Service shop added` */
export async function printFound(
  { io, output }: Pick<CommandConnection, "io" | "output">,
  name: string,
  found: PutServiceResponse,
  done: string,
): Promise<void> {
  const { endpoints, problems, error, verificationKey } = found;
  await printItem(io, output, { name, value: found, text: [done] });
  if (output !== undefined) return;
  if (endpoints.length > 0) await printList(io, undefined, endpoints, COLUMNS);
  if (verificationKey !== "") io.stdout.write(`Key that verifies its assertions: ${verificationKey}\n`);
  for (const problem of problems) io.stderr.write(`${name}: ${visibleLines(problem)}\n`);
  if (error !== "") {
    const later = "Once it can be, portico services list tells what is not served";
    io.stderr.write(`The contract of ${name} cannot be read now: ${visibleLines(error)}. ${later}\n`);
  }
}
