// Each safeguard that the tests of faults take out stands in the source: they run seldom, and one that was rewritten must be named anew.
import t from "tap";
import { AVAILABILITY } from "./availability.js";
import { LATE } from "./late.js";
import { PAST } from "./past.js";
import { REVOCATION } from "./revocation.js";
import { sourceWithout } from "./variant.js";

for (const { title, safeguards } of [...REVOCATION, ...LATE, ...PAST, ...AVAILABILITY]) {
  for (const safeguard of safeguards) {
    t.test(`${title}: ${safeguard.name}`, async (t) => {
      t.doesNotThrow(() => sourceWithout(safeguard));
    });
  }
}
