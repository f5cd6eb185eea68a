// Like safeguards.test.ts, for the safeguards with long counterexamples. Also explores the whole
// protocol in larger settings.
import t from "tap";
import { checkHolds, checkSafeguard } from "./check.js";
import { LARGE_SETTINGS, SAFEGUARDS } from "./safeguards.js";

for (const safeguard of SAFEGUARDS) if (safeguard.large === "slow") checkSafeguard(t, safeguard);
for (const [title, setting] of LARGE_SETTINGS) checkHolds(t, title, setting);
