/** `portico auth delete enrolment`. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { named } from "../http/did-you-mean.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";

export function deleteEnrolment(io: Io): Command {
  const command = dataCommand("enrolment <name> [id]", "delete an enrolment token, or all of a name");
  examples(command, "portico auth delete enrolment helloworld", "portico auth delete enrolment gateway pte_4fGh81");
  return command.action(async (name: string, id = "") => {
    const { client, output } = connect(io, command);
    const known = async () => {
      const { enrolments } = await client.authority<{ enrolments: { name: string }[] }>("Enrolments/List");
      return [...new Set(enrolments.map((one) => one.name))];
    };
    const answer = await named(client.authority("Enrolments/Delete", { name, id }), name, known);
    await printItem(io, output, { name, value: answer, text: ["Enrolment deleted"] });
  });
}
