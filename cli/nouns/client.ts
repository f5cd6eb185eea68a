/** A client of the authorization server: a program that may ask people for access. */
import { Option } from "commander";
import type { Client } from "../../src/api/types.js";
import { type NamedItems, namesOf } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { collect } from "../terminal/command.js";
import { type Column, instant, printItem } from "../terminal/output.js";
import { deleteCommand, listCommand, type Noun, printSecret } from "./noun.js";

const COLUMNS: readonly Column<Client>[] = [
  ["ID", ({ id }) => id],
  ["Redirect URIs", ({ redirectUris }) => redirectUris.join(", ") || "none"],
  ["Secret", ({ confidential }) => (confidential ? "yes" : "no")],
  ["Created", ({ created }) => instant(created)],
];

const clients: NamedItems<Client> = {
  list: async (client) => (await client.ask("auth/Clients/List")).clients,
  nameOf: ({ id }) => id,
};

interface CreateOptions {
  readonly redirectUri?: readonly string[];
  readonly secret?: boolean;
}

export const client: Noun = {
  list: listCommand({
    plural: "clients",
    summary: "list programs that may ask people for access",
    ...clients,
    columns: COLUMNS,
  }),

  create: gatewayCommand({
    usage: "client <name>",
    summary: "register a program that may ask people for access (OAuth)",
    examples: [
      "portico auth create client app --redirect-uri=https://app.example/callback",
      "portico auth create client desktop --redirect-uri=http://127.0.0.1/callback",
      "SECRET=$(portico auth create client web --secret \\",
      "    --redirect-uri=https://web.example/back)",
    ],
    options: [
      new Option("--redirect-uri <uri>", "where people are sent back to; again for more").argParser(collect),
      new Option("--secret", "it keeps a secret, which is printed once"),
    ],
    async run(connection, name: string, { redirectUri = [], secret: confidential = false }: CreateOptions) {
      const { io, client, output } = connection;
      const request = { name, redirectUris: redirectUri, confidential };
      const response = await client.ask("auth/Clients/Create", request);
      const { id } = response.client;
      const deletion = `portico auth delete client ${id}`;
      const words = `Its client_id is ${id}.`;
      if (confidential) return printSecret(connection, { secret: response.secret, response, words, deletion });
      await printItem(io, output, { name: id, value: response, text: [`Client created. ${words}`] });
    },
  }),

  delete: deleteCommand({
    usage: "client <id>",
    summary: "delete a client, and end every grant to it",
    examples: ["portico auth delete client app", "portico auth delete client https://app.example/client.json"],
    completion: [namesOf(clients)],
    collection: clients,
    done: "Client deleted",
    request: ({ client }, id) => client.ask("auth/Clients/Delete", { id }),
  }),
};
