// What has been taken away is never granted again: not from the moment at which the command that took it has answered.
import t from "tap";
import { Callers } from "../../src/endpoint.js";
import { Code } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../src/gen/portico/auth/v1/namespaces.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import type { Credentials } from "../../src/guard.js";
import { readRule } from "../rules/read-rule.js";
import { ask, codeOf, type Door, openDoor } from "./door.js";
import { declaring, call as endpoint } from "./endpoints.js";

const PASSWORD = "a password for bob";
const forEnrolled = declaring(Callers.ENROLLED);

/** What is granted before, and how it is taken away. */
interface Case {
  readonly what: string;
  prepare(door: Door): Promise<{ shown: Partial<Credentials>; takeAway: () => Promise<unknown> }>;
  readonly at?: typeof endpoint;
  readonly refusal?: Code;
}

/** The token of a new account `bob`. */
async function bob({ call, login, admin }: Door, scopes: string[] = []): Promise<string> {
  await call(AccountsService.delete, { name: "bob" }, admin).catch(() => {});
  await call(AccountsService.create, { name: "bob", password: PASSWORD, scopes }, admin);
  return login("bob", PASSWORD);
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
    what: "a rule is created that denies",
    refusal: Code.PERMISSION_DENIED,
    prepare: async (door) => ({
      shown: { token: await bob(door) },
      takeAway: () => door.call(RulesService.create, { rule: readRule("* denied *:*:* 1", "deny") }, door.admin),
    }),
  },
  {
    what: "a token is logged out",
    prepare: async (door) => {
      const token = await bob(door);
      return { shown: { token, tokenRequired: true }, takeAway: () => door.call(AuthService.logout, {}, token) };
    },
  },
  {
    what: "a key is revoked",
    prepare: async (door) => {
      const token = await bob(door);
      const { secret, key } = await door.call(
        KeysService.create,
        { name: "k", lifetime: undefined, resources: [] },
        token,
      );
      return {
        shown: { token: secret, tokenRequired: true },
        takeAway: () => door.call(KeysService.revoke, { prefix: key?.prefix ?? "" }, door.admin),
      };
    },
  },
  {
    what: "a refresh token is used twice",
    prepare: async (door) => {
      const { call } = door;
      await bob(door);
      const { accessToken, refreshToken } = await call(AuthService.login, {
        account: "bob",
        password: PASSWORD,
        namespace: "",
      });
      await call(AuthService.refresh, { refreshToken });
      return {
        shown: { token: accessToken, tokenRequired: true },
        takeAway: () => call(AuthService.refresh, { refreshToken }).catch(() => {}),
      };
    },
  },
  {
    what: "a scope is taken from an account",
    prepare: async (door) => {
      const token = await bob(door, ["staff"]);
      await door.call(RulesService.create, { rule: readRule("staff granted *:*:*", "staff") }, door.admin);
      await door.call(RulesService.delete, { id: "default" }, door.admin);
      return {
        shown: { token },
        takeAway: () => door.call(AccountsService.setScopes, { name: "bob", scopes: [] }, door.admin),
      };
    },
  },
  {
    what: "a password is set",
    prepare: async (door) => ({
      shown: { token: await bob(door), tokenRequired: true },
      takeAway: () =>
        door.call(
          AccountsService.setPassword,
          { name: "bob", currentPassword: "", newPassword: "another password" },
          door.admin,
        ),
    }),
  },
  {
    what: "an account is deleted",
    prepare: async (door) => ({
      shown: { token: await bob(door), tokenRequired: true },
      takeAway: () => door.call(AccountsService.delete, { name: "bob" }, door.admin),
    }),
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
      const { secret } = await call(EnrolmentsService.create, { name: "greeter" }, admin);
      return {
        shown: { token: secret },
        takeAway: () => call(EnrolmentsService.delete, { name: "greeter" }, admin),
      };
    },
  },
];

t.test("what has been taken away", async (t) => {
  const door = await openDoor(t);
  for (const { what, prepare, at = endpoint, refusal = Code.UNAUTHENTICATED } of cases) {
    await t.test(what, async (t) => {
      await onlyTheDefaultRule(door);
      const { shown, takeAway } = await prepare(door);
      await ask(door.guard, at, shown);

      // Asked without pause before, while and after it is taken away.
      const before = new Set<number>();
      const after: number[] = [];
      let answered = false;
      const taking = takeAway().then(() => {
        answered = true;
      });
      while (after.length < 100) {
        const askedAfter = answered;
        const code = await codeOf(door.guard, at, shown);
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

async function onlyTheDefaultRule({ call, admin }: Door): Promise<void> {
  for (const { id } of (await call(RulesService.list, {}, admin)).rules) await call(RulesService.delete, { id }, admin);
  await call(RulesService.create, { rule: readRule("<public> granted *:*:*", "default") }, admin);
}
