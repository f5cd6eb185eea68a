// Guards resolve many tokens to their callers in one request.
import t from "tap";
import { createToken, hashToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { PolicyService } from "../../../src/gen/portico/auth/v1/policy.js";
import { open } from "./open.js";

async function scene(t: Parameters<typeof open>[0]) {
  const authority = await open(t);
  const admin = await authority.login();
  const { secret } = await authority.call(EnrolmentsService.create, { name: "gateway", replace: true }, admin);
  const resolveAll = (sha256: Buffer[]) => authority.call(PolicyService.batchResolve, { sha256 }, secret);
  return { ...authority, admin, resolveAll };
}

t.test("a batch returns callers in the order of its tokens", async (t) => {
  const { call, admin, login, resolveAll } = await scene(t);
  const password = "a password for bob";
  await call(AccountsService.create, { name: "bob", password, scopes: ["staff"] }, admin);
  const bob = await login("bob", password);
  const { revision, results } = await resolveAll([bob, createToken("access"), admin, bob].map(hashToken));
  t.same(
    results.map(({ caller }) => caller?.account),
    ["bob", undefined, "admin", "bob"],
  );
  t.same(results[0]?.caller?.scopes, ["staff"]);
  t.ok(revision > 0n);
});

t.test("a batch has at most 1,000 tokens, each of 32 bytes", async (t) => {
  const { resolveAll } = await scene(t);
  const hashes = Array.from({ length: 1_001 }, () => hashToken(createToken("access")));
  await t.rejects(resolveAll(hashes), { code: Code.INVALID_ARGUMENT, message: /at most 1000/ });
  t.equal((await resolveAll(hashes.slice(1))).results.length, 1_000);
  await t.rejects(resolveAll([Buffer.alloc(31)]), { code: Code.INVALID_ARGUMENT, message: /32 bytes/ });
});

t.test("callers that do not fit into the message are left out at its end", async (t) => {
  const { call, admin, login, resolveAll } = await scene(t);
  const password = "a password for bob";
  const scopes = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(128, "x"));
  await call(AccountsService.create, { name: "bob", password, scopes }, admin);
  const bob = hashToken(await login("bob", password));
  const { results } = await resolveAll(Array.from({ length: 1_000 }, () => bob));
  t.ok(results.length > 50 && results.length < 100, `${results.length} callers of 13 KB are in 1 MiB`);
  t.ok(results.every(({ caller }) => caller?.account === "bob"));
});

t.test("only enrolled callers may resolve tokens", async (t) => {
  const { call, admin } = await scene(t);
  await t.rejects(call(PolicyService.batchResolve, { sha256: [] }, admin), { code: Code.PERMISSION_DENIED });
  await t.rejects(call(PolicyService.batchResolve, { sha256: [] }), { code: Code.UNAUTHENTICATED });
});
