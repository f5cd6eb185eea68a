// Like safeguards.test.ts, for the safeguards on Postgres that take a minute or more.
import t from "tap";
import { FULL } from "../support/full.js";
import { checkSafeguard } from "./check.js";
import { SAFEGUARDS } from "./safeguards.js";

const longest = SAFEGUARDS.filter(({ large, setting }) => large === "full" && setting.store === "postgres");
if (FULL) for (const safeguard of longest) checkSafeguard(t, safeguard);
else t.test("at full length only", { skip: "TEST_FULL is not set" }, async () => {});
