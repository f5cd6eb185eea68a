/** An enrolment: the token with which a gateway or a service joins the authority. */
import { Option } from "commander";
import type { Enrolment } from "../../src/api/types.js";
import { GATEWAY } from "../../src/contract/names.js";
import { type NamedItems, namesOf, type Source, serviceNames } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { type Column, instant } from "../terminal/output.js";
import { deleteCommand, listCommand, type Noun, printSecret } from "./noun.js";

const COLUMNS: readonly Column<Enrolment>[] = [
  ["Name", ({ name }) => name],
  ["ID", ({ id }) => id],
  ["Created", ({ created }) => instant(created)],
];

const enrolments: NamedItems<Enrolment> = {
  list: async (client) => (await client.ask("auth/Enrolments/List")).enrolments,
  nameOf: ({ name }) => name,
};

const joining: Source = async (place) => {
  const services = await Promise.resolve(serviceNames(place)).catch(() => []);
  return [{ text: GATEWAY, about: "a gateway alone" }, ...services];
};

function othersOf(name: string, replaced: boolean): string {
  return replaced ? `The others of ${name} are revoked.` : `Others of ${name} stay as they are.`;
}

export const enrolment: Noun = {
  list: listCommand({
    plural: "enrolments",
    summary: "list who may join: gateways and services",
    list: enrolments.list,
    columns: COLUMNS,
  }),

  create: gatewayCommand({
    usage: "enrolment <name>",
    summary: "create the token by which a service, or gateway, joins",
    examples: [
      "portico auth create enrolment gateway",
      "PORTICO_ENROLMENT=$(portico auth create enrolment helloworld) \\",
      "    portico service helloworld",
    ],
    options: [new Option("--replace", "revoke the others of this name, and put out whoever joined by them")],
    completion: [joining],
    async run(connection, name: string, { replace = false }: { replace?: boolean }) {
      const { client } = connection;
      // A caller who may not list enrolments is told nothing of others.
      const before = await enrolments.list(client).catch(() => []);
      const response = await client.ask("auth/Enrolments/Create", { name, replace });
      const words = before.some((other) => other.name === name) ? othersOf(name, replace) : "";
      const { secret, enrolment } = response;
      const deletion = `portico auth delete enrolment ${name} ${enrolment.id}`;
      await printSecret(connection, { secret, response, words, deletion });
    },
  }),

  delete: deleteCommand({
    usage: "enrolment <name> [id]",
    summary: "delete an enrolment token, or all of a name",
    examples: ["portico auth delete enrolment helloworld", "portico auth delete enrolment gateway pte_4fGh81"],
    completion: [namesOf(enrolments)],
    collection: enrolments,
    done: "Enrolment deleted",
    request: ({ client }, name, id: string | undefined) => client.ask("auth/Enrolments/Delete", { name, id }),
  }),
};
