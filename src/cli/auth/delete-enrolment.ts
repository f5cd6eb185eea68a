/** `portico auth delete enrolment`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { clientCommand, connect } from "../connection.js";
import type { Io } from "../io.js";

export function deleteEnrolment(io: Io): Command {
  const command = clientCommand("enrolment <name>", "delete an enrolment token");
  examples(command, "portico auth delete enrolment helloworld");
  return command.action(async (name: string) => {
    const { client } = connect(io, command);
    await client.authority("Enrolments/Delete", { name });
    io.stdout.write("Enrolment deleted\n");
  });
}
