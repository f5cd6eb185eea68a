/** A trust: which JWTs of an issuer stand for which account. */
import { Option } from "commander";
import type { Trust } from "../../src/api/types.js";
import { CompletedOption, type NamedItems, namesOf } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { type Column, instant, printItem } from "../terminal/output.js";
import { accountNames } from "./account.js";
import { issuers } from "./issuer.js";
import { deleteCommand, listCommand, type Noun } from "./noun.js";

const COLUMNS: readonly Column<Trust>[] = [
  ["Name", ({ name }) => name],
  ["Issuer", ({ issuer }) => issuer],
  ["Audience", ({ audience }) => audience],
  ["Subject", ({ subject }) => subject],
  ["Account", ({ account }) => account],
  ["Bearer", ({ bearer }) => (bearer ? "yes" : "no")],
  ["Created", ({ created }) => instant(created)],
];

const trusts: NamedItems<Trust> = {
  list: async (client) => (await client.ask("auth/Trusts/List")).trusts,
  nameOf: ({ name }) => name,
};

interface CreateOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly subject: string;
  readonly account: string;
  readonly bearer?: boolean;
}

export const trust: Noun = {
  list: listCommand({
    plural: "trusts",
    summary: "list which JWTs stand for which account",
    ...trusts,
    columns: COLUMNS,
  }),

  create: gatewayCommand({
    usage: "trust <name>",
    summary: "let JWTs of an issuer stand for an account",
    examples: [
      "portico auth create trust deploy --issuer=github --account=deployer \\",
      "    --audience=https://api.example --subject='repo:acme/shop:*'",
    ],
    options: [
      new CompletedOption("--issuer <name>", "the issuer", namesOf(issuers)).makeOptionMandatory(),
      new Option("--audience <text>", "what the claim aud contains").makeOptionMandatory(),
      new Option("--subject <text>", "the claim sub; * at its end stands for any rest").makeOptionMandatory(),
      new CompletedOption("--account <name>", "the account that they stand for", accountNames).makeOptionMandatory(),
      new Option("--bearer", "a JWT itself counts as a token"),
    ],
    async run({ io, client, output }, name: string, { bearer = false, ...options }: CreateOptions) {
      const { issuer, audience, subject, account } = options;
      const value = await client.ask("auth/Trusts/Create", { name, issuer, audience, subject, account, bearer });
      await printItem(io, output, { name, value, text: ["Trust created"] });
    },
  }),

  delete: deleteCommand({
    usage: "trust <name>",
    summary: "delete a trust, and end its tokens",
    examples: ["portico auth delete trust deploy"],
    completion: [namesOf(trusts)],
    collection: trusts,
    done: "Trust deleted",
    request: ({ client }, name) => client.ask("auth/Trusts/Delete", { name }),
  }),

  revoke: gatewayCommand({
    usage: "token <jti>",
    summary: "refuse the JWTs with this claim jti, and what they were exchanged for",
    examples: ["portico auth revoke token 3c2b8b2c-1f6d-4b6e-9a57-0d6f6f1c2a10"],
    async run({ io, client, output }, jti: string) {
      const value = await client.ask("auth/Trusts/RevokeToken", { jti });
      await printItem(io, output, {
        name: jti,
        value,
        text: [`Revoked: ${value.tokens} ${value.tokens === 1 ? "token" : "tokens"}`],
      });
    },
  }),
};
