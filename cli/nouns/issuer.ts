/** An issuer (OpenID Connect), whose JWTs trusts accept. */
import { Option } from "commander";
import type { Issuer } from "../../src/api/types.js";
import { type NamedItems, namesOf } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { type Column, instant, printItem } from "../terminal/output.js";
import { deleteCommand, listCommand, type Noun } from "./noun.js";

const COLUMNS: readonly Column<Issuer>[] = [
  ["Name", ({ name }) => name],
  ["URL", ({ url }) => url],
  ["Created", ({ created }) => instant(created)],
];

export const issuers: NamedItems<Issuer> = {
  list: async (client) => (await client.ask("auth/Issuers/List")).issuers,
  nameOf: ({ name }) => name,
};

export const issuer: Noun = {
  list: listCommand({ plural: "issuers", summary: "list issuers of JWTs", ...issuers, columns: COLUMNS }),

  create: gatewayCommand({
    usage: "issuer <name>",
    summary: "name an issuer of JWTs, for trusts",
    examples: [
      "portico auth create issuer github \\",
      "    --issuer-url=https://token.actions.githubusercontent.com",
      "portico auth create issuer gitlab --issuer-url=https://gitlab.com",
    ],
    options: [new Option("--issuer-url <url>", "the claim iss of its JWTs").makeOptionMandatory()],
    async run({ io, client, output }, name: string, { issuerUrl: url }: { readonly issuerUrl: string }) {
      const value = await client.ask("auth/Issuers/Create", { name, url });
      const text = ["Issuer created. Nothing is accepted from it before a trust names it: portico auth create trust"];
      await printItem(io, output, { name, value, text });
    },
  }),

  delete: deleteCommand({
    usage: "issuer <name>",
    summary: "delete an issuer with its trusts, and end their tokens",
    examples: ["portico auth delete issuer github"],
    completion: [namesOf(issuers)],
    collection: issuers,
    done: "Issuer deleted",
    request: ({ client }, name) => client.ask("auth/Issuers/Delete", { name }),
  }),
};
