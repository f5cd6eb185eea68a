/** Rules: who may call what. */
import { Code, StatusError } from "../../src/errors.js";
import {
  type ExplainRequest,
  type ExplainResponse,
  type Rule,
  RulesService,
} from "../../src/gen/portico/auth/v1/rules.js";
import { parsePattern, type Resource } from "../../src/resource.js";
import { type Context, type Part, part } from "../../src/rpc/service.js";
import { checkRule, RuleSet } from "../../src/rules.js";
import { accountOf } from "./callers.js";
import type { Changes } from "./changes.js";

interface Options {
  readonly changes: Changes;
  readonly maxRules: number;
}

export function rules({ changes, maxRules }: Options): Part {
  return part("portico.auth.v1.Rules", RulesService, {
    list: async (_, context) => {
      await changes.sync();
      return { rules: inOrder(rulesOf(changes, accountOf(context).namespace).values()) };
    },
    create: (request, context) => create({ changes, maxRules }, checked(request.rule), context),
    delete: async ({ id }, context) => {
      const caller = accountOf(context);
      await changes.make(caller, () => {
        if (!rulesOf(changes, caller.namespace).has(id)) throw notFound(id);
        return [{ $case: "ruleDeleted", value: { namespace: caller.namespace, id } }];
      });
      return {};
    },
    explain: (request, context) => explain(changes, request, context),
  });
}

async function create({ changes, maxRules }: Options, rule: Rule, context: Context): Promise<Rule> {
  const caller = accountOf(context);
  await changes.make(caller, () => {
    const present = rulesOf(changes, caller.namespace);
    if (present.has(rule.id)) {
      throw new StatusError(Code.ALREADY_EXISTS, `a rule with the ID ${rule.id} exists already`);
    }
    if (present.size >= maxRules) {
      throw new StatusError(
        Code.FAILED_PRECONDITION,
        `the namespace has ${maxRules} rules, the most it may; delete one`,
      );
    }
    return [{ $case: "ruleCreated", value: { namespace: caller.namespace, rule } }];
  });
  return rule;
}

async function explain(changes: Changes, request: ExplainRequest, context: Context): Promise<ExplainResponse> {
  const { namespace } = accountOf(context);
  const resource = literal(request.resource);
  await changes.sync();
  const account = changes.state.account(namespace, request.account);
  if (request.account !== "" && account === undefined) {
    throw new StatusError(Code.NOT_FOUND, `no account with the name ${request.account}`);
  }
  const compiled = RuleSet.compile(rulesOf(changes, namespace).values());
  const { decision, decidedBy, matched } = compiled.explain(resource, account?.scopes);
  return { code: { granted: 200, unauthorized: 401, forbidden: 403 }[decision], decidedBy, matched };
}

function rulesOf(changes: Changes, namespace: string): ReadonlyMap<string, Rule> {
  return changes.state.namespaces.get(namespace)?.rules ?? new Map();
}

function inOrder(rules: Iterable<Rule>): Rule[] {
  return [...rules].sort((a, b) => b.priority - a.priority || (a.id < b.id ? -1 : 1));
}

function checked(rule: Rule | undefined): Rule {
  if (rule === undefined) throw new StatusError(Code.INVALID_ARGUMENT, "rule: is missing");
  try {
    return checkRule(rule);
  } catch (error) {
    // Its messages begin with the name of the field.
    throw invalid((error as Error).message.replace(/^(\w+) /, "rule.$1: "), error);
  }
}

function literal(text: string): Resource {
  try {
    const resource = parsePattern(text);
    if (!Object.values(resource).some((segment) => segment.includes("*"))) return resource;
  } catch (error) {
    throw invalid((error as Error).message.replace(/^(\w+) /, "$1: "), error);
  }
  throw invalid("resource: must be without wildcards, such as service:helloworld:Helloworld.Call");
}

function invalid(message: string, cause?: unknown): StatusError {
  return new StatusError(Code.INVALID_ARGUMENT, message, { cause });
}

function notFound(id: string): StatusError {
  return new StatusError(Code.NOT_FOUND, `no rule with the ID ${id}`);
}
