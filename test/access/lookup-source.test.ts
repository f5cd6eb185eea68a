// Which authority a guard believes about the caller of a token: the one that it follows, from the
// snapshot that it has. Revisions are compared by number, and an authority that still reads from a
// demoted primary of Postgres may show another change under the number of an acknowledged one.
import t from "tap";
import type { Resolved } from "../../src/access/callers/lookups.js";
import { createToken, hashToken } from "../../src/call/token.js";
import { Code } from "../../src/errors.js";
import { call } from "./endpoints.js";
import type { ScriptedAuthority } from "./scripted-authority.js";
import { follows, scene } from "./several-authorities.js";
import { ask, codeOf } from "./test-gateway.js";

const RULES = { rules: ["* granted *:*:*"] };
const hex = (token: string): string => hashToken(token).toString("hex");

/** A guard follows the first of two authorities, and only that one knows the token. */
async function two(t: Parameters<typeof scene>[0]) {
  const { guard, scripts } = await scene(t, 2, RULES);
  const [first, second] = scripts as [ScriptedAuthority, ScriptedAuthority];
  const token = createToken("access");
  first.callers.set(hex(token), { account: "bob" });
  return { guard, first, second, token };
}

/** Makes an authority respond as it is now, but only when the returned function is called. */
function hold(script: ScriptedAuthority): () => void {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  script.resolve = (question) => {
    const response: Resolved = script.response(question);
    return released.then(() => response);
  };
  return release;
}

/** The guard follows the second authority, because the first has ended its stream. */
async function leave(first: ScriptedAuthority, second: ScriptedAuthority): Promise<void> {
  first.reachable = false;
  first.stream.break();
  await follows(second);
}

t.test("a response of the authority that was followed before does not count", async (t) => {
  const { guard, first, second, token } = await two(t);
  const release = hold(first);
  const code = codeOf(guard, call, { token });
  await first.until(() => first.asked.length === 1);
  await leave(first, second);
  release();
  t.equal(await code, Code.UNAUTHENTICATED);
  t.same(second.asked, [hex(token)]);
});

t.test("a response from before a snapshot does not count, although it has the same revision", async (t) => {
  const { guard, first, token } = await two(t);
  const release = hold(first);
  const code = codeOf(guard, call, { token });
  await first.until(() => first.asked.length === 1);
  first.callers.clear();
  first.resolve = (question) => first.response(question);
  first.stream.send(first.snapshot());
  await first.until(() => first.stream.applied.length === 2);
  release();
  t.equal(await code, Code.UNAUTHENTICATED);
  t.equal(first.asked.length, 2);
});

t.test("another authority is not asked, also if the followed one seems to be away", async (t) => {
  const { guard, first, second, token } = await two(t);
  Object.defineProperty(first.access.channel, "state", { value: "connecting" });
  t.equal(await codeOf(guard, call, { token }), 0);
  t.same(second.asked, []);
});

t.test("if the followed authority hangs, the next one is asked as soon as it is followed", async (t) => {
  const { guard, first, second, token } = await two(t);
  second.callers.set(hex(token), { account: "bob" });
  hold(first);
  const admitted = ask(guard, call, { token });
  await first.until(() => first.asked.length === 1);
  await leave(first, second);
  t.equal((await admitted).caller?.account, "bob");
});
