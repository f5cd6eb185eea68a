// A message of the authority that fits only in part: no call is decided by that part, not even in
// the same turn of the event loop.
import t from "tap";
import { OpenGuard } from "../../src/access/guard.js";
import { Code, StatusError } from "../../src/errors.js";
import type { Channel } from "../../src/rpc/channel.js";
import { call } from "./endpoints.js";
import { ScriptedAuthority } from "./scripted-authority.js";

/** More steps than the guard takes to end a stream. */
const STEPS = 100;

t.test("a rule that denies is deleted by a message whose rest cannot be applied", async (t) => {
  const rules = ["<public> granted *:*:*", "<public> denied *:*:*"];
  const script = Object.assign(new ScriptedAuthority(), { leaseMs: 30_000, rules });
  const codes = new Set<Code>();
  const decide = (): void => {
    try {
      guard.admitAtOnce({ token: undefined, namespace: undefined, tokenRequired: false }, call);
      codes.add(Code.OK);
    } catch (error) {
      codes.add(StatusError.from(error).code);
    }
  };
  /** Decides a call after each step that follows from a message. */
  const channel: Channel = {
    state: "ready",
    close: () => undefined,
    open: (start, listener) =>
      script.access.channel.open(start, {
        onHeaders: (metadata) => listener.onHeaders?.(metadata),
        onDrain: () => listener.onDrain?.(),
        onEnd: (status) => listener.onEnd(status),
        async onMessage(message) {
          listener.onMessage(message);
          for (let step = 0; step < STEPS; step++) {
            decide();
            await undefined;
          }
        },
      }),
  };
  const guard = new OpenGuard({ ...script.access, channel });
  t.teardown(() => guard.close());
  await guard.ready();
  codes.clear();
  decide();
  t.same([...codes], [Code.UNAUTHENTICATED]);
  const deleted = { namespace: "default", resource: "*:*:*" };
  script.change(
    { $case: "ruleDeleted", value: { ...deleted, id: "r2" } },
    { $case: "ruleDeleted", value: { ...deleted, id: "unknown" } },
  );
  await script.until(() => script.streams.length > 1);
  t.notOk(codes.has(Code.OK), `the calls ended with ${[...codes].map((code) => Code[code])}`);
});
