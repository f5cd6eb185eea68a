/** Tokens are opaque, and a mistyped one is detected without a lookup. */
import { createHash } from "node:crypto";
import t from "tap";
import { createToken, hashToken, isToken, tokenPrefix } from "../../src/call/token.js";

const PREFIXES = { access: "pta", refresh: "ptr", key: "ptk", enrolment: "pte" } as const;

for (const kind of ["access", "refresh", "key", "enrolment"] as const) {
  t.test(kind, async (t) => {
    const token = createToken(kind);
    t.match(token, new RegExp(`^${PREFIXES[kind]}_[0-9A-Za-z]{49}$`));
    t.ok(isToken(token));
    t.equal(tokenPrefix(token), token.slice(0, 10));
    t.same(hashToken(token), createHash("sha256").update(token).digest());
  });
}

t.test("a token of an earlier version is still accepted", async (t) => {
  t.ok(isToken("ptk_DNWxONYOVnvCVpg1jq36US3m2GlFmjpZ7lob2Xy84ur4Hmcje"));
});

t.test("a single mistyped, omitted or doubled character is detected", async (t) => {
  const token = createToken("access");
  const wrong: string[] = [];
  for (let at = 0; at < token.length; at++) {
    const typed = token[at] === "x" ? "y" : "x";
    wrong.push(token.slice(0, at) + typed + token.slice(at + 1));
    wrong.push(token.slice(0, at) + token.slice(at + 1));
    wrong.push(token.slice(0, at) + token[at] + token.slice(at));
  }
  t.same(wrong.filter(isToken), []);
});

t.test("no two tokens are the same", async (t) => {
  t.equal(new Set(Array.from({ length: 1_000 }, () => createToken("access"))).size, 1_000);
});
