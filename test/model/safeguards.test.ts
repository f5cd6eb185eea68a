// Each safeguard of the settling protocol is needed: without it, the model reaches a wrongful decision by a short way.
import t from "tap";
import { checkSafeguard } from "./check.js";
import { SAFEGUARDS } from "./safeguards.js";

for (const safeguard of SAFEGUARDS) if (!safeguard.large) checkSafeguard(t, safeguard);
