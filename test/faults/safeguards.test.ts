// The tests of faults run rarely. This test notices at once when the text of a safeguard that they
// remove is no longer in the source.
import t from "tap";
import { SIGN_IN_SAFEGUARDS } from "../machines/sign-in-faults.js";
import { AVAILABILITY } from "./availability.js";
import { LATE } from "./late.js";
import { LIMITS } from "./limits.js";
import { PAST } from "./past.js";
import { REVOCATION } from "./revocation.js";
import { sourceWithout } from "./variant.js";

const signIns = { title: "sign-ins", safeguards: SIGN_IN_SAFEGUARDS };

for (const { title, safeguards } of [...REVOCATION, ...LATE, ...PAST, ...AVAILABILITY, ...LIMITS, signIns]) {
  for (const safeguard of safeguards) {
    t.test(`${title}: ${safeguard.name}`, async (t) => {
      t.doesNotThrow(() => sourceWithout(safeguard));
    });
  }
}
