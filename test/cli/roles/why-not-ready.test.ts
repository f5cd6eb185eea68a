// Why a process cannot serve is one line, whatever its reason has.
import t from "tap";
import { whyNotReady } from "../../../cli/roles/readiness.js";
import type { Authority } from "../../../src/access/authorities.js";
import type { OpenGuard } from "../../../src/access/guard.js";
import { Code, StatusError } from "../../../src/errors.js";

t.test("a reason of OpenSSL, which has line ends", async (t) => {
  const cause = new Error("80FC:error:0A00010B:SSL routines:\nssl3_record.c:350:\n");
  const faults = new Map([["grpcs://a:1", new StatusError(Code.UNAVAILABLE, "unavailable", { cause })]]);
  const authorities = [{ name: "grpcs://a:1" }] as Authority[];
  t.equal(
    whyNotReady(["guard"], { faults } as unknown as OpenGuard, authorities),
    "the authority at grpcs://a:1 cannot be reached: 80FC:error:0A00010B:SSL routines: ssl3_record.c:350:",
  );
});
