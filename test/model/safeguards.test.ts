// Each safeguard is needed: without it, the model reaches a wrongful decision in a few steps.
import t from "tap";
import { checkSafeguard, DOCUMENTED } from "./check.js";
import { SAFEGUARDS } from "./safeguards.js";

t.test("docs/revocation.md names the same safeguards, in the same order", async (t) => {
  t.same(
    [...DOCUMENTED.keys()],
    SAFEGUARDS.map(({ name }) => name),
  );
});

for (const safeguard of SAFEGUARDS) if (!safeguard.large) checkSafeguard(t, safeguard);
