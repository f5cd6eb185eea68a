// Like safeguards.test.ts, for the safeguards with long counterexamples. Also explores the whole
// protocol in larger settings.
import t from "tap";
import { sampleOf } from "../support/full.js";
import { checkHolds, checkSafeguard } from "./check.js";
import { LARGE_SETTINGS, SAFEGUARDS } from "./safeguards.js";

const large = SAFEGUARDS.filter((safeguard) => safeguard.large === "slow");
for (const safeguard of sampleOf(large, 4)) checkSafeguard(t, safeguard);
for (const [title, setting] of LARGE_SETTINGS) checkHolds(t, title, setting);
