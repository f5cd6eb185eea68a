/**
 * `portico auth <verb> <noun>`: rules, limits, accounts, keys and others. To add a noun, add a file
 * and an entry in NOUNS.
 */
import type { Command } from "commander";
import { examples, newCommand } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { account } from "./account.js";
import { audit } from "./audit.js";
import { client } from "./client.js";
import { enrolment } from "./enrolment.js";
import { grant } from "./grant.js";
import { issuer } from "./issuer.js";
import { key } from "./key.js";
import { applyingLimits, limit } from "./limit.js";
import { namespace } from "./namespace.js";
import type { Noun, Verb } from "./noun.js";
import { explain, rule } from "./rule.js";
import { trust } from "./trust.js";
import { usageNoun } from "./usage.js";

/** In the order in which the help lists them. */
const NOUNS: readonly Noun[] = [
  rule,
  limit,
  account,
  key,
  namespace,
  enrolment,
  client,
  grant,
  issuer,
  trust,
  audit,
  usageNoun,
];

const VERBS: Readonly<Record<Verb, { readonly summary: string; readonly example: string }>> = {
  list: { summary: "list rules, limits, accounts, keys, …", example: "portico auth list rules" },
  create: { summary: "create a rule, limit, account, key, …", example: "portico auth create account bob" },
  delete: { summary: "delete a rule, limit, account, key, …", example: "portico auth delete rule default" },
  set: {
    summary: "change a rule, a limit, an account's scopes or password",
    example: "portico auth set scopes bob billing",
  },
  rotate: { summary: "replace an API key by a new one", example: "portico auth rotate key ptk_4fGh81" },
  revoke: { summary: "refuse a JWT from now on", example: "portico auth revoke token 3c2b8b2c-1f6d" },
  export: { summary: "print the audit trail or usage as lines of JSON", example: "portico auth export audit" },
};

export function auth(io: Io): Command {
  const command = newCommand("auth", "manage rules, accounts, keys: who may call what");
  examples(
    command,
    "portico auth list rules",
    "portico auth create rule --access=granted --scope='*' \\",
    "    --resource='*:*:*' onlyloggedin",
    "portico auth delete rule default",
    "portico auth explain --account bob service:helloworld:Helloworld.Call",
  );
  for (const [name, { summary, example }] of Object.entries(VERBS)) {
    const verb = examples(newCommand(name, summary), example);
    for (const noun of NOUNS) for (const declared of [noun[name as Verb] ?? []].flat()) verb.addCommand(declared(io));
    command.addCommand(verb);
  }
  return command.addCommand(explain(io)).addCommand(applyingLimits(io));
}
