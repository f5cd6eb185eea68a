/** What a guard is sent: a snapshot, then every change, and the callers of tokens. */
import t from "tap";
import { SYSTEM } from "../../../src/access/guard.js";
import { hashToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { type Change, PolicyService } from "../../../src/gen/portico/auth/v1/policy.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { callerOf, open, PASSWORD } from "./open.js";
import { Watch } from "./watch.js";

const rule = { id: "new", scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };

t.test("a guard is sent a snapshot, then the changes that follow", async (t) => {
  const { channel, call, login } = await open(t);
  const token = await login();
  const watch = new Watch(t, channel);
  watch.start();
  t.match(await watch.first(), {
    $case: "snapshot",
    value: { revision: 2n, namespaces: [{ namespace: "default", rules: [{ id: "default" }] }] },
  });
  await call(RulesService.create, { rule }, token);
  t.match(await watch.first(), {
    $case: "changes",
    value: { changes: [{ change: { $case: "ruleCreated", value: { rule } } }] },
  });
});

t.test("revisions without changes for guards are sent together before the next pong", async (t) => {
  const { channel, call, login } = await open(t);
  const token = await login();
  const watch = new Watch(t, channel);
  watch.start();
  const { revision } = await watch.next("snapshot");
  for (const name of ["one", "two", "three"]) {
    await call(KeysService.create, { name, lifetime: undefined, resources: [], from: [] }, token);
  }
  watch.sendPing();
  t.match(await watch.first(), { $case: "changes", value: { revision: revision + 3n, changes: [] } });
  t.match(await watch.first(), { $case: "pong", value: { revision: revision + 3n } });
});

t.test("a revision without changes for guards is sent at once if a change waits for them", async (t) => {
  const { channel, call, login } = await open(t, { leaseMs: 60_000 });
  const token = await login();
  const watch = new Watch(t, channel);
  watch.start();
  const { revision } = await watch.next("snapshot");
  watch.applied(revision);
  await watch.ping();
  const creating = call(EnrolmentsService.create, { name: "greeter", replace: false }, token);
  t.match(await watch.first(), { $case: "changes", value: { revision: revision + 1n, changes: [] } });
  watch.applied(revision + 1n);
  await creating;
});

t.test("each change that affects decisions is sent", async (t) => {
  const { channel, call, login } = await open(t);
  const token = await login();
  const tokens = await call(AuthService.login, { account: "admin", password: PASSWORD, namespace: "" });
  const key = await call(KeysService.create, { name: "ci", lifetime: undefined, resources: [], from: [] }, token);
  await call(EnrolmentsService.create, { name: "greeter", replace: false }, token);
  await call(NamespacesService.create, { name: "other" }, token);
  const watch = new Watch(t, channel);
  watch.start();
  await watch.next("snapshot");
  const steps: [what: string, act: () => Promise<unknown>, change: object][] = [
    [
      "rule created",
      () => call(RulesService.create, { rule }, token),
      { $case: "ruleCreated", value: { namespace: "default", rule } },
    ],
    [
      "rule deleted",
      () => call(RulesService.delete, { id: "new" }, token),
      { $case: "ruleDeleted", value: { namespace: "default", id: "new" } },
    ],
    [
      "account created",
      () => call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: [] }, token),
      { $case: "accountChanged", value: { namespace: "default", account: "bob" } },
    ],
    [
      "scopes set",
      () => call(AccountsService.setScopes, { name: "bob", scopes: ["staff"] }, token),
      { $case: "accountChanged", value: { account: "bob" } },
    ],
    [
      "password set",
      () => call(AccountsService.setPassword, { name: "bob", currentPassword: "", newPassword: PASSWORD }, token),
      { $case: "accountChanged", value: { account: "bob" } },
    ],
    [
      "account deleted",
      () => call(AccountsService.delete, { name: "bob" }, token),
      { $case: "accountChanged", value: { account: "bob" } },
    ],
    [
      "logged out",
      () => call(AuthService.logout, { everywhere: false }, tokens.accessToken),
      { $case: "tokensRevoked", value: { sha256: [hashToken(tokens.accessToken)] } },
    ],
    [
      "key revoked",
      () => call(KeysService.revoke, { prefix: key.key?.prefix ?? "" }, token),
      { $case: "tokensRevoked", value: { sha256: [hashToken(key.secret)] } },
    ],
    [
      "enrolment deleted",
      () => call(EnrolmentsService.delete, { name: "greeter", id: "" }, token),
      { $case: "tokensRevoked" },
    ],
    [
      "namespace deleted",
      () => call(NamespacesService.delete, { name: "other" }, token),
      { $case: "namespaceDeleted", value: { namespace: "other" } },
    ],
  ];
  for (const [what, act, change] of steps) {
    await act();
    let changes: Change[] = [];
    while (changes.length === 0) ({ changes } = await watch.next("changes"));
    // Changes of assertion keys are tested in test/access/caller-assertions.test.ts.
    const sent = changes.filter((one) => one.change?.$case !== "contextKey");
    t.match(sent, [{ change }], what);
    t.equal(sent.length, 1, what);
  }
});

t.test("a stream that does not begin with `start` is ended", async (t) => {
  const { channel } = await open(t);
  await t.rejects(new Watch(t, channel).ping(), { code: Code.INVALID_ARGUMENT });
  const twice = new Watch(t, channel);
  twice.start();
  twice.start();
  await t.rejects(twice.next("pong"), { code: Code.INVALID_ARGUMENT });
});

t.test("only an enrolled process may watch the policy", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  await t.rejects(call(PolicyService.batchResolve, { sha256: [hashToken(token)] }, token), {
    code: Code.PERMISSION_DENIED,
  });
  await t.rejects(call(PolicyService.batchResolve, { sha256: [hashToken(token)] }), { code: Code.UNAUTHENTICATED });
});

t.test("a token is resolved to its caller", async (t) => {
  const now = 1_800_000_000_000;
  const opened = await open(t, { clock: () => now });
  const { call } = opened;
  const { accessToken, refreshToken } = await call(AuthService.login, {
    account: "admin",
    password: PASSWORD,
    namespace: "",
  });
  const limits = ["service:helloworld:*"];
  const { secret } = await call(
    KeysService.create,
    { name: "ci", lifetime: undefined, resources: limits, from: [] },
    accessToken,
  );
  const enrolment = await call(EnrolmentsService.create, { name: "greeter", replace: false }, accessToken);
  const admin = { namespace: "default", account: "admin", scopes: ["admin"], enrolment: "" };
  const seconds = BigInt(now / 1000);
  t.match(await callerOf(opened, accessToken), {
    ...admin,
    expires: { seconds: seconds + 3600n },
    resources: [],
    reportUse: false,
  });
  t.match(await callerOf(opened, secret), {
    ...admin,
    expires: { seconds: seconds + 90n * 86_400n },
    resources: limits,
    reportUse: true,
  });
  t.match(await callerOf(opened, enrolment.secret), { enrolment: "greeter", account: "", scopes: [] });
  t.equal(await callerOf(opened, refreshToken), undefined, "a refresh token for none");
  t.equal(await callerOf(opened, "pta_unknown"), undefined);
  await t.rejects(call(PolicyService.batchResolve, { sha256: [Buffer.alloc(31)] }, undefined, { admission: SYSTEM }), {
    code: Code.INVALID_ARGUMENT,
    message: "sha256: each must have 32 bytes",
  });
});
