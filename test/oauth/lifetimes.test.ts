// How long a code and the tokens of a grant count, by the authority's clock.
import t from "tap";
import { isGood, open } from "../services/auth/open.js";
import { consent, exchange } from "./at-the-authority.js";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const START = 1_800_000_000_000;

for (const [what, waitMs, error] of [
  ["counts for a minute", MINUTE - 1, ""],
  ["does not count after it", MINUTE, "invalid_grant"],
] as const) {
  t.test(`a code ${what}`, async (t) => {
    let now = START;
    const authority = await open(t, { clock: () => now });
    const code = await consent(authority);
    now += waitMs;
    t.equal((await exchange(authority, { $case: "code", value: code })).error, error);
  });
}

t.test("an access token counts for an hour, a grant of 30 days no longer than that", async (t) => {
  let now = START;
  const authority = await open(t, { clock: () => now });
  const first = await exchange(authority, { $case: "code", value: await consent(authority) });
  now += 60 * MINUTE - 1;
  t.ok(await isGood(authority, first.accessToken));
  now += 1;
  t.notOk(await isGood(authority, first.accessToken));
  now = START + 29 * DAY;
  const last = await exchange(authority, { $case: "refreshToken", value: first.refreshToken });
  t.equal(last.error, "");
  now = START + 30 * DAY;
  t.notOk(await isGood(authority, last.accessToken));
  t.match(await exchange(authority, { $case: "refreshToken", value: last.refreshToken }), { error: "invalid_grant" });
});

for (const [what, waitMs, error] of [
  ["counts for 30 days", 30 * DAY - 1, ""],
  ["does not count after them", 30 * DAY, "invalid_grant"],
] as const) {
  t.test(`a refresh token of a grant of 90 days ${what}`, async (t) => {
    let now = START;
    const authority = await open(t, { clock: () => now });
    const code = await consent(authority, undefined, undefined, 90);
    const { refreshToken } = await exchange(authority, { $case: "code", value: code });
    now += waitMs;
    t.equal((await exchange(authority, { $case: "refreshToken", value: refreshToken })).error, error);
  });
}
