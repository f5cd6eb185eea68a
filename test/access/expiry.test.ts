// A token is valid until it expires by the authority's clock. Each use checks that exactly.
import t from "tap";
import { createToken, hashToken } from "../../src/call/token.js";
import { Code } from "../../src/errors.js";
import { call } from "./endpoints.js";
import { type ScriptedAuthority, start } from "./scripted-authority.js";
import { ask, codeOf } from "./test-gateway.js";

const HOUR = 3_600_000;

/** A token that expires at a moment of this computer's clock. */
function issue(script: ScriptedAuthority, at: number): string {
  const token = createToken("access");
  const expires = { seconds: BigInt(Math.floor(at / 1000)), nanos: (at % 1000) * 1e6 };
  script.callers.set(hashToken(token).toString("hex"), { expires });
  return token;
}

t.test("a known token expires at the exact millisecond", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 30_000 });
  await guard.ready();
  let [token, expiry, granted] = ["", 0, 0];
  // If the process is delayed, a token may expire before it is used.
  while (granted === 0) {
    expiry = Date.now() + 300;
    token = issue(script, expiry);
    for (;;) {
      const asked = Date.now();
      if ((await codeOf(guard, call, { token, tokenRequired: true })) !== Code.OK) break;
      granted = asked;
      await new Promise(setImmediate);
    }
  }
  t.ok(granted <= expiry, `last granted ${expiry - granted} ms before`);
  t.equal(await codeOf(guard, call, { token, tokenRequired: true }), Code.UNAUTHENTICATED, "on /v1 it is refused");
  t.equal((await ask(guard, call, { token })).caller, undefined, "elsewhere its caller is nobody");
});

const skewed: readonly [what: string, clockAhead: number, expiresIn: number, code: Code][] = [
  ["the authority's clock is ahead, and the token has expired there", 2 * HOUR, HOUR, Code.UNAUTHENTICATED],
  ["the authority's clock is ahead, and the token has not expired there", 2 * HOUR, 3 * HOUR, Code.OK],
  ["the authority's clock is behind, and the token has not expired there", -2 * HOUR, -HOUR, Code.OK],
  ["the authority's clock is behind, and the token has expired there", -2 * HOUR, -3 * HOUR, Code.UNAUTHENTICATED],
];
for (const [what, clockAhead, expiresIn, code] of skewed) {
  t.test(what, async (t) => {
    const { script, guard } = await start(t, { leaseMs: 30_000, clockAhead });
    await guard.ready();
    t.equal(await codeOf(guard, call, { token: issue(script, Date.now() + expiresIn), tokenRequired: true }), code);
  });
}

t.test("only an enrolment may have no expiry", async (t) => {
  const { script, guard } = await start(t, { leaseMs: 30_000 });
  await guard.ready();
  const token = createToken("access");
  script.callers.set(hashToken(token).toString("hex"), { expires: undefined });
  t.equal(await codeOf(guard, call, { token, tokenRequired: true }), Code.UNAUTHENTICATED);
});
