// Like safeguards.test.ts, for the safeguards on SQLite that take a minute or more; only their
// counterexamples.
import t from "tap";
import { FULL } from "../support/full.js";
import { checkCounterexample } from "./check.js";
import { SAFEGUARDS } from "./safeguards.js";

const longest = SAFEGUARDS.filter(({ large, setting }) => large === "full" && setting.store === "sqlite");
if (FULL) for (const safeguard of longest) checkCounterexample(t, safeguard);
else t.test("at full length only", { skip: "TEST_FULL is not set" }, async () => {});
