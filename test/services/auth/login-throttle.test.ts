/** Guessing passwords is throttled. */
import t from "tap";
import { LoginThrottle } from "../../../services/auth/login/attempts.js";
import { Code } from "../../../src/errors.js";
import { RetryInfo } from "../../../src/gen/google/rpc/error_details.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { open, PASSWORD } from "./open.js";

const admin = { account: "admin", password: PASSWORD, namespace: "" };
const WRONG = { code: Code.UNAUTHENTICATED, message: "Wrong account or password" };

t.test("five failures throttle an account at an address, and each further one doubles the wait", async (t) => {
  let now = Date.now();
  const { call } = await open(t, { clock: () => now });
  const attempt = (password: string, clientAddress = "192.0.2.1") =>
    call(AuthService.login, { ...admin, password }, undefined, { clientAddress });
  const delay = async (): Promise<number> => {
    const error = await attempt(PASSWORD).catch((error) => error);
    t.match(error, { code: Code.RESOURCE_EXHAUSTED, message: /^Too many failed logins; try again in \d+ s$/ });
    return Number(RetryInfo.decode(error.details[0].value).retryDelay?.seconds);
  };
  for (let failure = 1; failure <= 5; failure++) await t.rejects(attempt("wrong"), WRONG);
  t.equal(await delay(), 1);
  await t.rejects(attempt("wrong", "192.0.2.2"), WRONG, "from another address it is free to fail");
  now += 1_000;
  await t.rejects(attempt("wrong"), WRONG);
  t.equal(await delay(), 2);
  now += 2_000;
  t.ok(await attempt(PASSWORD), "after the wait, the right password is good");
  await t.rejects(attempt("wrong"), WRONG, "and what went before is forgotten");
  await t.rejects(attempt("wrong"), WRONG);
});

t.test("many parallel guesses are throttled too", async (t) => {
  const { call } = await open(t);
  const guesses = Array.from({ length: 30 }, () => call(AuthService.login, { ...admin, password: "wrong" }));
  const codes = (await Promise.allSettled(guesses)).map((guess) =>
    guess.status === "rejected" ? guess.reason.code : 0,
  );
  const tried = codes.filter((code) => code === Code.UNAUTHENTICATED).length;
  t.ok(tried >= 5 && tried <= 6, `${tried} were tried: five, and the one that was being hashed meanwhile`);
  t.equal(codes.filter((code) => code === Code.RESOURCE_EXHAUSTED).length, 30 - tried);
});

t.test("failures are counted per account and network", async (t) => {
  type Key = readonly [namespace: string, account: string, address: string];
  const base: Key = ["default", "admin", "192.0.2.1"];
  const six: Key = ["default", "admin", "2001:db8:0:7::1"];
  const cases: [failed: Key, tried: Key, throttled: boolean][] = [
    [base, ["default", "admin", "192.0.2.1"], true],
    [base, ["default", "admin", "192.0.2.2"], false],
    [base, ["default", "bob", "192.0.2.1"], false],
    [base, ["other", "admin", "192.0.2.1"], false],
    // All addresses of an IPv6 /64, in any notation.
    [six, ["default", "admin", "2001:db8:0:7:a:b:c:d"], true],
    [six, ["default", "admin", "2001:0db8::7:0:0:0:5"], true],
    [six, ["default", "admin", "2001:db8:0:8::1"], false],
    [["default", "admin", "::ffff:192.0.2.1"], ["default", "admin", "::ffff:192.0.2.2"], false],
  ];
  for (const [failed, tried, throttled] of cases) {
    const throttle = new LoginThrottle({ clock: () => 0 });
    for (let failure = 1; failure <= 5; failure++) throttle.failed(...failed);
    if (throttled) t.throws(() => throttle.check(...tried), { code: Code.RESOURCE_EXHAUSTED }, tried.join(" "));
    else t.doesNotThrow(() => throttle.check(...tried), tried.join(" "));
  }
});

t.test("the wait doubles up to 15 minutes, and is reset after an hour", async (t) => {
  let now = 0;
  const throttle = new LoginThrottle({ clock: () => now });
  const who = ["default", "admin", "192.0.2.1"] as const;
  const isFree = (): boolean => {
    try {
      throttle.check(...who);
      return true;
    } catch {
      return false;
    }
  };
  for (let failure = 1; failure <= 4; failure++) throttle.failed(...who);
  for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
    throttle.failed(...who);
    now += seconds * 1000 - 1;
    t.notOk(isFree(), `before ${seconds} s`);
    now += 1;
    t.ok(isFree(), `after ${seconds} s`);
  }
  now += 60 * 60_000;
  for (let failure = 1; failure <= 4; failure++) throttle.failed(...who);
  t.ok(isFree());
});
