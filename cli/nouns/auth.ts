/** `portico auth`: accounts, keys and rules. */
import type { Command } from "commander";
import { examples, newCommand } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { createAccount } from "./create-account.js";
import { createEnrolment } from "./create-enrolment.js";
import { createKey } from "./create-key.js";
import { createNamespace } from "./create-namespace.js";
import { createRule } from "./create-rule.js";
import { deleteEnrolment } from "./delete-enrolment.js";
import { deleteKey } from "./delete-key.js";
import { deleteAccount, deleteNamespace } from "./delete-named.js";
import { deleteRule } from "./delete-rule.js";
import { explain } from "./explain.js";
import { listAccounts } from "./list-accounts.js";
import { listAudit } from "./list-audit.js";
import { listEnrolments } from "./list-enrolments.js";
import { listKeys } from "./list-keys.js";
import { listNamespaces } from "./list-namespaces.js";
import { listRules } from "./list-rules.js";
import { rotateKey } from "./rotate-key.js";
import { setPassword } from "./set-password.js";
import { setScopes } from "./set-scopes.js";

interface Verb {
  readonly summary: string;
  readonly example: string;
  readonly nouns: readonly ((io: Io) => Command)[];
}

const VERBS: Record<string, Verb> = {
  list: {
    summary: "list rules, accounts, keys, …",
    example: "portico auth list rules",
    nouns: [listRules, listAccounts, listKeys, listNamespaces, listEnrolments, listAudit],
  },
  create: {
    summary: "create a rule, account, key, …",
    example: "portico auth create account bob",
    nouns: [createRule, createAccount, createKey, createNamespace, createEnrolment],
  },
  delete: {
    summary: "delete a rule, account, key, …",
    example: "portico auth delete rule default",
    nouns: [deleteRule, deleteAccount, deleteKey, deleteNamespace, deleteEnrolment],
  },
  set: {
    summary: "set an account's scopes or password",
    example: "portico auth set scopes bob billing",
    nouns: [setScopes, setPassword],
  },
  rotate: {
    summary: "replace an API key by a new one",
    example: "portico auth rotate key ptk_4fGh81",
    nouns: [rotateKey],
  },
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
  for (const [name, { summary, example, nouns }] of Object.entries(VERBS)) {
    const verb = examples(newCommand(name, summary), example);
    for (const noun of nouns) verb.addCommand(noun(io));
    command.addCommand(verb);
  }
  return command.addCommand(explain(io));
}
