// The error of a refused call has no stack trace, because a flood of refused calls must stay cheap.
import t from "tap";
import { authorityUnreachable, namespaceReplaced, refusal } from "../../src/call/admission.js";
import type { Caller } from "../../src/call/caller.js";
import { Code, invalidArgument } from "../../src/errors.js";
import { call } from "./endpoints.js";

const bob: Caller = { namespace: "default", account: "bob", scopes: [], expires: 0, resources: [] };

for (const [what, make, code] of [
  ["without a valid token", () => refusal("unauthorized", call, undefined), Code.UNAUTHENTICATED],
  ["of a caller without a rule that grants the call", () => refusal("forbidden", call, bob), Code.PERMISSION_DENIED],
  ["outside the lease", () => authorityUnreachable(new Error("no answer")), Code.UNAVAILABLE],
  ["in a namespace that was created anew", () => namespaceReplaced("default"), Code.UNAVAILABLE],
] as const) {
  t.test(`a refusal ${what} has no stack`, async (t) => {
    const error = make();
    t.equal(error.code, code);
    t.notMatch(error.stack, /\n +at /);
    t.match(invalidArgument("x").stack, /\n +at /, "an error that is made afterwards has one");
  });
}
