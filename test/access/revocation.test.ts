// A removed permission is never granted again, from the moment at which the command that removed it
// has its response. What ends tokens is in ended.test.ts.
import t from "tap";
import type { Credentials } from "../../src/access/guard.js";
import { Callers } from "../../src/contract/endpoint.js";
import { Code } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../src/gen/portico/auth/v1/namespaces.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { declaring, call as endpoint } from "./endpoints.js";
import { readRule } from "./read-rule.js";
import { ask, codeOf, openTestGateway, type TestGateway } from "./test-gateway.js";

const PASSWORD = "a password for bob";
const forEnrolled = declaring(Callers.ENROLLED);

/**
 * A gateway, and an account that will lose a permission: `bob`, logged in, with the scope `staff`.
 */
interface Scene extends TestGateway {
  readonly bob: string;
}

/** A permission that is granted at first, and how it is removed. */
interface Case {
  readonly what: string;
  prepare(scene: Scene): Promise<{ shown: Partial<Credentials>; takeAway: () => Promise<unknown> }>;
  readonly at?: typeof endpoint;
  readonly refusal?: Code;
}

const cases: readonly Case[] = [
  {
    what: "a rule is deleted",
    prepare: async ({ call, admin }) => ({
      shown: {},
      takeAway: () => call(RulesService.delete, { id: "default" }, admin),
    }),
  },
  {
    what: "a rule that denies is created",
    refusal: Code.PERMISSION_DENIED,
    prepare: async ({ call, admin, bob }) => ({
      shown: { token: bob },
      takeAway: () => call(RulesService.create, { rule: readRule("* denied *:*:* 1", "deny") }, admin),
    }),
  },
  {
    what: "a scope is removed from an account",
    prepare: async ({ call, admin, bob }) => {
      await call(RulesService.create, { rule: readRule("staff granted *:*:*", "staff") }, admin);
      await call(RulesService.delete, { id: "default" }, admin);
      return {
        shown: { token: bob },
        takeAway: () => call(AccountsService.setScopes, { name: "bob", scopes: [] }, admin),
      };
    },
  },
  {
    what: "a namespace is deleted",
    prepare: async ({ call, login, admin }) => {
      const { adminPassword } = await call(NamespacesService.create, { name: "other" }, admin);
      const token = await login("admin", adminPassword, "other");
      await call(RulesService.create, { rule: readRule("<public> granted *:*:*", "r") }, token);
      return {
        shown: { namespace: "other" },
        takeAway: () => call(NamespacesService.delete, { name: "other" }, admin),
      };
    },
  },
  {
    what: "an enrolment is deleted",
    at: forEnrolled,
    prepare: async ({ call, admin }) => {
      const { secret } = await call(EnrolmentsService.create, { name: "greeter", replace: false }, admin);
      return {
        shown: { token: secret },
        takeAway: () => call(EnrolmentsService.delete, { name: "greeter", id: "" }, admin),
      };
    },
  },
];

t.test("a removed permission is never granted again", async (t) => {
  const gateway = await openTestGateway(t);
  await gateway.call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: ["staff"] }, gateway.admin);
  const bob = await gateway.login("bob", PASSWORD);
  for (const { what, prepare, at = endpoint, refusal = Code.UNAUTHENTICATED } of cases) {
    await t.test(what, async (t) => {
      await onlyTheDefaultRule(gateway);
      const { shown, takeAway } = await prepare({ ...gateway, bob });
      await ask(gateway.guard, at, shown);

      // The guard is asked without pause before, while and after the permission is removed.
      const before = new Set<number>();
      const after: number[] = [];
      let answered = false;
      const taking = takeAway().then(() => {
        answered = true;
      });
      while (after.length < 100) {
        const askedAfter = answered;
        const code = await codeOf(gateway.guard, at, shown);
        if (askedAfter) after.push(code);
        else before.add(code);
        await new Promise(setImmediate);
      }
      await taking;
      t.ok(before.has(Code.OK), "it was granted before");
      t.same(new Set(after), new Set([refusal]), "it was refused ever after");
    });
  }
});

t.test(
  "the keys of an enabled account are granted from the moment at which the command has its response",
  async (t) => {
    const { guard, call, admin } = await openTestGateway(t);
    const robot = { name: "robot", password: "", scopes: [], withoutPassword: true };
    await call(AccountsService.create, robot, admin);
    const request = { name: "k", lifetime: undefined, resources: [], from: [], account: "robot" };
    const { secret } = await call(KeysService.create, request, admin);
    const shown = { token: secret, tokenRequired: true };
    for (let round = 0; round < 3; round++) {
      await call(AccountsService.setDisabled, { name: "robot", disabled: true }, admin);
      // The guard remembers for seconds what it was told about a token.
      t.equal(await codeOf(guard, endpoint, shown), Code.UNAUTHENTICATED);
      await call(AccountsService.setDisabled, { name: "robot", disabled: false }, admin);
      t.equal(await codeOf(guard, endpoint, shown), Code.OK);
    }
  },
);

async function onlyTheDefaultRule({ call, admin }: TestGateway): Promise<void> {
  for (const { id } of (await call(RulesService.list, { pageSize: 0, pageToken: "" }, admin)).rules)
    await call(RulesService.delete, { id }, admin);
  await call(RulesService.create, { rule: readRule("<public> granted *:*:*", "default") }, admin);
}
