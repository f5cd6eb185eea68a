/** `portico auth delete enrolment`. */
import type { Command } from "commander";
import { examples } from "../command.js";
import { clientCommand, connect } from "../connection.js";
import { named } from "../did-you-mean.js";
import type { Io } from "../io.js";

export function deleteEnrolment(io: Io): Command {
  const command = clientCommand("enrolment <name>", "delete an enrolment token");
  examples(command, "portico auth delete enrolment helloworld");
  return command.action(async (name: string) => {
    const { client } = connect(io, command);
    const known = async () => {
      const { enrolments } = await client.authority<{ enrolments: { name: string }[] }>("Enrolments/List");
      return enrolments.map((one) => one.name);
    };
    await named(client.authority("Enrolments/Delete", { name }), name, known);
    io.stdout.write("Enrolment deleted\n");
  });
}
