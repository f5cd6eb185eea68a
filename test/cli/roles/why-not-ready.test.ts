// The reason why a process cannot serve is one line, whatever the error contains.
import t from "tap";
import { whyNotReady } from "../../../cli/roles/readiness.js";
import type { AuthorityLink } from "../../../src/access/follow/authorities.js";
import { authorityUnreachable } from "../../../src/call/admission.js";
import { Code, StatusError } from "../../../src/errors.js";

t.test("an error of OpenSSL, which contains line breaks", async (t) => {
  const cause = new Error("80FC:error:0A00010B:SSL routines:\nssl3_record.c:350:\n");
  const errors = new Map([["grpcs://a:1", new StatusError(Code.UNAVAILABLE, "unavailable", { cause })]]);
  const authorities = [{ name: "grpcs://a:1" }] as AuthorityLink[];
  t.equal(
    whyNotReady(["guard"], { guard: { errors } }, authorities),
    "the authority at grpcs://a:1 cannot be reached: 80FC:error:0A00010B:SSL routines: ssl3_record.c:350:",
  );
});

t.test("a gateway whose token belongs to another service", async (t) => {
  const error = new StatusError(
    Code.PERMISSION_DENIED,
    "Forbidden call made to registry:Registry.Watch: only gateways may",
  );
  const parts = { guard: { errors: new Map() }, catalog: { errors: new Map([["a:1", error]]) } };
  t.equal(
    whyNotReady(["catalog"], parts, [{ name: "a:1" }] as AuthorityLink[]),
    "the authority at a:1 does not accept the enrolment token of this process (Forbidden call made to registry:Registry.Watch: only gateways may)",
  );
});

t.test("authorities that respond, and whose store does not", async (t) => {
  const errors = new Map([
    ["a:1", authorityUnreachable()],
    ["a:2", new StatusError(Code.UNAVAILABLE, "The authority's store does not respond; try again")],
  ]);
  t.equal(
    whyNotReady(["guard"], { guard: { errors } }, [{ name: "a:1" }, { name: "a:2" }] as AuthorityLink[]),
    "no authority can be followed: a:1 responds, but decides nothing: its /readyz and its log say why; " +
      "a:2 failed: The authority's store does not respond; try again",
  );
});
