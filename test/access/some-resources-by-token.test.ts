// Administration of some resources by each kind of token of its holder: a program that calls for
// the person, or a JWT, has no more than the person, and often less.
import t from "tap";
import { Code, StatusError } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { GrantsService } from "../../src/gen/portico/auth/v1/grants.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { openIssuer } from "../oauth/issuer.js";
import { open } from "../services/auth/open.js";
import { openMemoryStore } from "../support/memory-store.js";
import { readRule } from "./read-rule.js";
import { KINDS, type Kind, tokenOf, tokensOfOne } from "./tokens-of-one.js";

/** What calls, and never administers. */
const CALLS_ONLY: readonly Kind[] = ["a JWT", "a token for a JWT", "a key"];

t.test("each token of who administers some resources administers these, or none", async (t) => {
  const issuer = await openIssuer(t);
  const at = await open(t, { store: openMemoryStore() });
  const admin = await at.login();
  const one = await tokensOfOne({ at, admin, issuer }, "dora");
  const scopes = ["admin:on:service:orders:*"];
  await at.call(AccountsService.setScopes, { name: "dora", scopes, expected: undefined }, admin);
  for (const [index, kind] of KINDS.entries()) {
    const create = async (resource: string, priority = 0): Promise<Code> => {
      const rule = readRule(`<public> granted ${resource} ${priority}`, `r${index}`);
      return at.call(RulesService.create, { rule }, tokenOf(one, kind)).then(
        () => Code.OK,
        (error) => StatusError.from(error).code,
      );
    };
    t.equal(await create("*:*:*"), Code.PERMISSION_DENIED, `${kind}, outside`);
    t.equal(await create("service:orders:*", 1000), Code.PERMISSION_DENIED, `${kind}, reserved`);
    const isEnough = !CALLS_ONLY.includes(kind);
    t.equal(await create("service:orders:*"), isEnough ? Code.OK : Code.PERMISSION_DENIED, `${kind}, within`);
  }
  const { grants } = await at.call(GrantsService.list, { pageSize: 0, pageToken: "" }, one.login.accessToken);
  t.ok(
    grants.every(({ account }) => account === "dora"),
    "grants of others are not listed",
  );
});
