import t from "tap";
import { Code } from "../../../src/errors.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { open, PASSWORD } from "./open.js";

const WRONG = { code: Code.UNAUTHENTICATED, message: "Wrong account or password" };
const admin = { account: "admin", password: PASSWORD, namespace: "" };

t.test("a login returns tokens that identify the caller", async (t) => {
  const { call } = await open(t, { clock: () => 1_000_000_000_000 });
  const tokens = await call(AuthService.login, admin);
  t.match(tokens, { accessToken: /^pta_/, refreshToken: /^ptr_/, namespace: "default", account: "admin" });
  t.equal(tokens.accessExpires?.seconds, 1_000_003_600n);
  t.equal(tokens.refreshExpires?.seconds, 1_002_592_000n);
  t.match(await call(AuthService.whoAmI, {}, tokens.accessToken), {
    namespace: "default",
    account: "admin",
    scopes: ["admin"],
    expires: tokens.accessExpires,
  });
});

t.test("a failed login does not show whether the account exists", async (t) => {
  const { call } = await open(t);
  const requests = [
    { ...admin, password: "wrong" },
    { ...admin, password: "" },
    { ...admin, account: "nobody" },
    { ...admin, namespace: "nowhere" },
  ];
  for (const request of requests) await t.rejects(call(AuthService.login, request), WRONG);
});

t.test("an unknown account takes as long as a wrong password", async (t) => {
  // With the real cost.
  const { call } = await open(t, { fresh: true, adminPassword: PASSWORD, passwordCost: undefined });
  const time = async (account: string) => {
    const before = process.cpuUsage();
    await t.rejects(call(AuthService.login, { ...admin, account, password: "wrong" }), WRONG);
    return process.cpuUsage(before).user;
  };
  await time("warm up");
  const [known, unknown] = [await time("admin"), await time("nobody")];
  t.ok(unknown > known / 2 && unknown < known * 2, `known ${known} µs of processor, unknown ${unknown} µs`);
});

t.test("a login with a name that is too long fails, and the name is not stored", async (t) => {
  const { call } = await open(t);
  const names = [
    { ...admin, account: "x".repeat(129) },
    { ...admin, namespace: "x".repeat(64) },
  ];
  for (const request of names) {
    // With a shorter name, the sixth attempt would be throttled.
    for (let attempt = 1; attempt <= 7; attempt++) await t.rejects(call(AuthService.login, request), WRONG);
  }
});
