/** `portico auth create enrolment`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printSecret } from "./secret.js";

export function createEnrolment(io: Io): Command {
  const command = dataCommand("enrolment <name>", "create the token by which a service, or gateway, joins").option(
    "--replace",
    "revoke the others of this name, and put out whoever joined by them",
  );
  examples(
    command,
    "portico auth create enrolment gateway",
    "PORTICO_ENROLMENT=$(portico auth create enrolment helloworld) \\",
    "    portico service helloworld",
  );
  return command.action(async (name: string, { replace = false }: { replace?: boolean }) => {
    const { client, output } = connect(io, command);
    const answer = await client.authority<{ secret: string }>("Enrolments/Create", { name, replace });
    const others = replace ? `The others of ${name} are revoked.` : `Others of ${name} stay as they are.`;
    await printSecret(io, output, answer, answer.secret, others);
  });
}
