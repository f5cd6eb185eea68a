/** How many guards may watch, and how long a guard that applies no changes can delay them. */
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { type Open, open } from "./open.js";
import { Watch } from "./watch.js";

const LONG = 20_000;

async function enrol({ call, login }: Open, name: string): Promise<string> {
  return (await call(EnrolmentsService.create, { name, replace: false }, await login())).secret;
}

async function join(t: Test, { channel }: Open, token?: string): Promise<Watch> {
  const watch = new Watch(t, channel, token);
  watch.start();
  await watch.next("snapshot");
  return watch;
}

t.test("256 guards may watch with one token; when one leaves, another may come", async (t) => {
  const opened = await open(t, { leaseMs: LONG });
  const token = await enrol(opened, "shop");
  const joined: Watch[] = [];
  while (joined.length < 256) joined.push(await join(t, opened, token));
  await t.rejects(join(t, opened, token), {
    code: Code.RESOURCE_EXHAUSTED,
    message: "Too many guards with one enrolment token: at most 256; create another token",
  });
  await t.resolves(join(t, opened, await enrol(opened, "other")), "another token has a share of its own");
  joined[0]?.cancel();
  for (;;) {
    const again = await join(t, opened, token).catch((error) => error);
    if (again instanceof Watch) break;
    t.equal(again.code, Code.RESOURCE_EXHAUSTED, "until the authority has seen it leave");
  }
});

t.test("the authority's own guard is accepted when all places are taken", async (t) => {
  const opened = await open(t, { leaseMs: LONG });
  for (const name of ["a", "b", "c", "d"]) {
    const token = await enrol(opened, name);
    for (let count = 0; count < 250; count++) await join(t, opened, token);
  }
  await t.rejects(join(t, opened, await enrol(opened, "e")), {
    code: Code.RESOURCE_EXHAUSTED,
    message: "Too many guards at once: an authority has at most 1000; add another authority",
  });
  const own = await join(t, opened);
  await t.resolves(own.ping());
});

t.test("streams that break again and again take up no places", async (t) => {
  const opened = await open(t, { leaseMs: LONG });
  const token = await enrol(opened, "shop");
  const comeAndGo = async (): Promise<void> => {
    const watch = await join(t, opened, token);
    await watch.ping();
    watch.cancel();
    while ((await watch.first().catch(() => undefined)) !== undefined);
  };
  // Fifty at a time, because pings that arrive together share a reading of the store.
  for (let count = 0; count < 1_100; count += 50) await Promise.all(Array.from({ length: 50 }, comeAndGo));
  await t.resolves(join(t, opened, token));
});

t.test("a guard gets its next pong only when it has applied the revision of the last one", async (t) => {
  const opened = await open(t, { leaseMs: LONG });
  const token = await opened.login();
  const watch = await join(t, opened, await enrol(opened, "shop"));
  const first = await watch.ping();
  watch.sendPing();
  watch.sendPing();
  // The stream keeps its order: a pong for the second ping would come before the message with the
  // change.
  const rule = { id: "new", scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
  const creating = opened.call(RulesService.create, { rule }, token);
  await watch.next("changes");
  watch.applied(first.revision - 1n);
  watch.applied(first.revision);
  const next = await watch.next("pong");
  t.equal(next.sequence, 3n, "the pong is for the newest ping, after a new reading");
  t.ok(next.revision > first.revision);
  watch.applied(next.revision);
  await creating;
});

t.test("a guard that applies nothing delays changes only for its first lease", async (t) => {
  const opened = await open(t, { leaseMs: 1_000 });
  const token = await opened.login();
  const watch = await join(t, opened, await enrol(opened, "shop"));
  await watch.ping();
  const pinging = setInterval(() => watch.sendPing(), 20);
  t.teardown(() => clearInterval(pinging));
  const create = async (id: string): Promise<number> => {
    const start = performance.now();
    const rule = { id, scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
    await opened.call(RulesService.create, { rule }, token);
    return performance.now() - start;
  };
  t.ok((await create("first")) > 300, "the first change waits for it");
  const later: number[] = [];
  // A busy computer may delay most of them.
  for (let change = 0; change < 20 && Math.min(...later) >= 500; change++) later.push(await create(`later-${change}`));
  t.ok(Math.min(...later) < 500, `a later one does not: ${later}`);
});
