// A client that got no response revokes its token again. Nothing is left to revoke then, but a
// guard may still grant calls by the token until its lease ends. So the second request waits too.
import t from "tap";
import { open } from "../services/auth/open.js";
import { Watch } from "../services/auth/watch.js";
import { openMemoryStore } from "../support/memory-store.js";
import { consent, exchange, revoke } from "./at-the-authority.js";

const CLIENT = "portico-cli";

for (const which of ["accessToken", "refreshToken"] as const) {
  t.test(`who revokes the ${which} twice waits twice for every guard`, async (t) => {
    // Longer than any stall of the machine.
    const opened = await open(t, { store: openMemoryStore(), leaseMs: 60_000 });
    const tokens = await exchange(opened, { $case: "code", value: await consent(opened) });
    const guard = new Watch(t, opened.channel);
    guard.start();
    guard.applied((await guard.ping()).revision);
    const first = revoke(opened, tokens[which], CLIENT);
    const { revision } = await guard.next("changes");

    let responded = false;
    const again = revoke(opened, tokens[which], CLIENT).then(() => {
      responded = true;
    });
    // The authority reads the log for the pong after it has read it for the request.
    await guard.ping();
    t.notOk(responded, "the guard has not applied it yet");
    guard.applied(revision);
    await Promise.all([first, again]);
  });
}
