// Requests of services/auth/oauth/exchange.ts, services/auth/login/page-sessions.ts and others race
// each other, and the command that ends what they give tokens for, at several authorities. In every
// order of their steps, what counts once gives a token once, and nothing counts when the command
// has returned.
import t from "tap";
import { FULL } from "../../support/full.js";
import { exploreRace, type Found, type Race } from "./explore.js";
import { KINDS, type KindName } from "./kinds.js";
import type { EndName } from "./setup.js";
import { SAFEGUARDS } from "./world.js";

const ACCOUNT: readonly EndName[] = [
  "its account is disabled",
  "its account is deleted",
  "its account has a new password",
];
const GRANT: readonly EndName[] = [...ACCOUNT, "its client is deleted"];
const PERSON: readonly EndName[] = ["its issuer is deleted", "its account is unlinked from the person"];
/** A new password ends no JWT that was never used: nobody knows it yet. */
const JWT: readonly EndName[] = [
  "its account is disabled",
  "its account is deleted",
  "its issuer is deleted",
  "its trust is deleted",
];

const ENDS_OF: Record<KindName, readonly EndName[]> = {
  "a code is exchanged": [...GRANT, "the grant with the code is deleted"],
  "a device code is exchanged": [...GRANT, "the grant of the device is deleted"],
  "a grant is refreshed": [...GRANT, "the grant is deleted"],
  "a grant by an issuer is refreshed": [...GRANT, ...PERSON, "the grant by the issuer is deleted"],
  "a login is refreshed": [...ACCOUNT, "the login is logged out"],
  "a page renews its token": [...ACCOUNT, "the page signs out"],
  "a person logs in": ACCOUNT,
  "a person signs in on a page": ACCOUNT,
  "a person consents": [...GRANT, "its account signs out everywhere"],
  "a person of an issuer consents": [...GRANT, "its account signs out everywhere", ...PERSON],
  "a person of an issuer comes back to a page": ["its account is disabled", "its account is deleted", ...PERSON],
  "a JWT is exchanged": JWT,
  "a JWT is accepted": JWT,
  "a service calls for a person": ["its account is disabled", "the grant is deleted", "its enrolment is deleted"],
};

const textOf = ({ wrong }: Found): string => [...(wrong?.trace ?? []), wrong?.error].join("\n");

for (const [name, ends] of Object.entries(ENDS_OF)) {
  const kind = name as KindName;
  t.test(`${kind}, at one authority and at two at once`, async (t) => {
    const alone = await exploreRace({ kind, requests: 1 });
    t.same([alone.wrong, [...alone.outcomes]], [undefined, ["a token"]], textOf(alone));
    const twice = await exploreRace({ kind, requests: 2 });
    t.equal(twice.wrong, undefined, textOf(twice));
    if (KINDS[kind].once) t.notOk(twice.outcomes.has("a token,a token"));
  });
  t.test(`${kind} while it ends`, async (t) => {
    for (const [index, end] of ends.entries()) {
      const isLong = FULL || (kind === "a grant is refreshed" && index === ends.length - 1);
      // Two requests and a command have ten times as many orders as one and a command.
      for (const requests of isLong ? [1, 2] : [1]) {
        const found = await exploreRace({ kind, end, requests });
        t.equal(found.wrong, undefined, `${end}\n${textOf(found)}`);
        t.ok(found.outcomes.size > 1, `${found.states} states lead to: ${[...found.outcomes].join("; ")}`);
      }
    }
  });
}

const BROKEN: readonly Race[] = [
  { kind: "a code is exchanged", requests: 2 },
  { kind: "a grant is refreshed", requests: 2 },
  { kind: "a person signs in on a page", end: "its account has a new password", requests: 1 },
];

for (const safeguard of SAFEGUARDS) {
  t.test(`without “${safeguard}” it is wrong`, async (t) => {
    for (const race of BROKEN) t.ok((await exploreRace(race, safeguard)).wrong, race.kind);
  });
}
