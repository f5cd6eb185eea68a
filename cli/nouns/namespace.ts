/** A namespace: a separate set of accounts, keys and rules. */
import type { Namespace } from "../../src/api/types.js";
import { namesOf } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { namespaces } from "../command/connection.js";
import { type Column, instant } from "../terminal/output.js";
import { deleteCommand, listCommand, type Noun, printSecret } from "./noun.js";

const COLUMNS: readonly Column<Namespace>[] = [
  ["Name", ({ name }) => name],
  ["Created", ({ created }) => instant(created)],
];

export const namespace: Noun = {
  list: listCommand({ plural: "namespaces", summary: "list the namespaces", list: namespaces.list, columns: COLUMNS }),

  create: gatewayCommand({
    usage: "namespace <name>",
    summary: "create a namespace; prints its admin's password once",
    examples: [
      "portico auth create namespace team",
      "portico login --namespace team --profile team    with the password printed",
    ],
    async run(connection, name: string) {
      const response = await connection.client.ask("auth/Namespaces/Create", { name });
      const words = `This is the password of account admin in ${name}. It has no rules yet: every call is refused.`;
      const deletion = `portico auth delete namespace ${name}`;
      await printSecret(connection, { secret: response.adminPassword, response, words, deletion });
    },
  }),

  delete: deleteCommand({
    usage: "namespace <name>",
    summary: "delete a namespace with all that is in it",
    examples: ["portico auth delete namespace team"],
    completion: [namesOf(namespaces)],
    collection: namespaces,
    done: "Namespace deleted",
    request: ({ client }, name) => client.ask("auth/Namespaces/Delete", { name }),
  }),
};
