// A token that one authority issues while another ends what it comes from: when both have responded,
// it is granted at neither.
import t from "tap";
import { SYSTEM } from "../../src/access/guard.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { ClientsService } from "../../src/gen/portico/auth/v1/clients.js";
import { GrantsService } from "../../src/gen/portico/auth/v1/grants.js";
import { PolicyService } from "../../src/gen/portico/auth/v1/policy.js";
import { TrustsService } from "../../src/gen/portico/auth/v1/trusts.js";
import { consent, exchange, exchangeJwt } from "../oauth/at-the-authority.js";
import { openIssuer } from "../oauth/issuer.js";
import { isGood, type Open, open } from "../services/auth/open.js";
import { renew } from "../services/auth/page-browser.js";
import { openMemoryStore } from "../support/memory-store.js";
import { PASSWORD, type TokensOfOne, tokensOfOne } from "./tokens-of-one.js";

/** How often each is tried: either may be the first in the log. */
const ROUNDS = 6;

interface Race {
  readonly what: string;
  /** Issues a token; empty if that is refused. */
  readonly issue: (at: Open, one: TokensOfOne) => Promise<string>;
  readonly end: (at: Open, one: TokensOfOne, admin: string) => Promise<unknown>;
}

const races: readonly Race[] = [
  {
    what: "a refresh, and the deletion of the grant",
    issue: async (at, { grant, name }) =>
      (await exchange(at, { $case: "refreshToken", value: grant.refreshToken }, name)).accessToken,
    end: (at, { grant }, admin) => at.call(GrantsService.delete, { id: grant.id }, admin),
  },
  {
    what: "a consent and its code, and the deletion of the client",
    issue: async (at, { name }) => {
      const code = await consent(at, name, { account: name, password: PASSWORD });
      return (await exchange(at, { $case: "code", value: code }, name)).accessToken;
    },
    end: (at, { name }, admin) => at.call(ClientsService.delete, { id: name }, admin),
  },
  {
    what: "a JWT that is accepted, and the deletion of its trust",
    issue: async (at, { jwt }) => {
      await at.call(PolicyService.acceptJwt, { jwt }, undefined, { admission: SYSTEM });
      return jwt;
    },
    end: (at, { name }, admin) => at.call(TrustsService.delete, { name }, admin),
  },
  {
    what: "a JWT that is exchanged, and the disabling of its account",
    issue: async (at, { jwt }) => (await exchangeJwt(at, jwt)).accessToken,
    end: (at, { name }, admin) => at.call(AccountsService.setDisabled, { name, disabled: true }, admin),
  },
  {
    what: "a token for a page, and a new password",
    issue: async (at, { page }) => (await renew(at, page)).accessToken,
    end: (at, { name }, admin) =>
      at.call(AccountsService.setPassword, { name, currentPassword: "", newPassword: "another password" }, admin),
  },
];

t.test("a token that is issued while its origin ends", async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  t.teardown(() => store.close());
  const [at, other, issuer] = [await open(t, { store }), await open(t, { store }), await openIssuer(t)];
  const admin = await at.login();
  for (const [index, { what, issue, end }] of races.entries()) {
    await t.test(what, async (t) => {
      for (let round = 0; round < ROUNDS; round++) {
        const one = await tokensOfOne({ at, admin, issuer }, `n${index}-${round}`);
        const issuing = issue(other, one).catch(() => "");
        // Either begins first in half of the rounds.
        if (round % 2 === 1) for (let turn = 0; turn < round; turn++) await new Promise(setImmediate);
        await end(at, one, admin);
        const token = await issuing;
        for (const authority of [at, other]) t.notOk(token !== "" && (await isGood(authority, token)));
      }
    });
  }
});
