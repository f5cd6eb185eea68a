import { EventEmitter, on, once } from "node:events";
import { pino } from "pino";
import t from "tap";
import { Directory } from "../../../services/registry/directory.js";
import { Code } from "../../../src/errors.js";
import type { WatchRequest } from "../../../src/gen/portico/registry/v1/registry.js";
import { ownersInMemory } from "../../support/name-owners.js";
import { greeter, LARGE, show } from "./instances.js";

const local = { local: true };
/** The requests of a watcher that confirms nothing. */
async function* never(): AsyncGenerator<WatchRequest> {}

function setUp() {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  const gone = new AbortController();
  const watch = directory.watch(gone.signal, never());
  return { directory, gone, watch, next: async () => show((await watch.next()).value!) };
}

t.test("a watch of an empty registry is complete at once", async (t) => {
  t.equal(await setUp().next(), "complete");
});

t.test("a watch gets all instances in the order of joining, then each change", async (t) => {
  const { directory, next } = setUp();
  const leave = directory.join(greeter({ id: "one" }), local);
  directory.join(greeter({ id: "two" }), local);
  t.equal(await next(), "+greeter/one +greeter/two complete");
  leave();
  t.equal(await next(), "-greeter/one complete");
  const waiting = next();
  directory.join(greeter({ id: "one" }), local);
  t.equal(await waiting, "+greeter/one complete");
});

t.test("an instance that joined again comes after those that joined before", async (t) => {
  const { directory, next } = setUp();
  directory.join(greeter({ id: "one" }), local);
  directory.join(greeter({ id: "two" }), local);
  directory.join(greeter({ id: "one" }), local);
  t.equal(await next(), "+greeter/two +greeter/one complete");
  directory.join(greeter({ id: "two" }), local);
  directory.join(greeter({ id: "one" }), local);
  directory.join(greeter({ id: "two" }), local);
  t.equal(await next(), "+greeter/one +greeter/two complete");
});

t.test("a slow watch gets the current state, not every change that led to it", async (t) => {
  const { directory, next } = setUp();
  t.equal(await next(), "complete");
  directory.join(greeter(), local)();
  directory.join(greeter({ addresses: ["127.0.0.1:1"] }), local);
  directory.join(greeter({ id: "two" }), local)();
  t.equal(await next(), "+greeter/one -greeter/two complete");
});

t.test("changes that do not fit into one message come in several, and the last one is complete", async (t) => {
  const { directory, next } = setUp();
  const fitting = Math.floor((256 * 1024) / (LARGE.length + 512));
  const ids = Array.from({ length: 2 * fitting + 3 }, (_, index) => `id${index}`);
  for (const id of ids) directory.join(greeter({ id, descriptors: LARGE }), local);
  const messages: string[] = [];
  do messages.push(await next());
  while (!messages.at(-1)!.endsWith("complete"));
  t.same(messages.join(" ").split(" "), [...ids.map((id) => `+greeter/${id}`), "complete"]);
  t.equal(messages.length, Math.ceil(ids.length / fitting));
});

t.test("a watch that falls too far behind is ended, and its memory is released", async (t) => {
  const { directory, watch, next } = setUp();
  const leave = directory.join(greeter({ id: "stays" }), local);
  t.equal(await next(), "+greeter/stays complete");
  for (let count = 0; count <= 20_000; count++) directory.join(greeter({ id: `id${count}` }), local)();
  await t.rejects(watch.next(), { code: Code.RESOURCE_EXHAUSTED, message: /watch anew/ });
  leave();
});

t.test("the number of watches is limited, and a watch that ends makes room for another", async (t) => {
  const { directory, gone, next } = setUp();
  await next();
  for (let open = 1; open < 1_000; open++) await directory.watch(new AbortController().signal, never()).next();
  const another = () => directory.watch(new AbortController().signal, never()).next();
  await t.rejects(another(), { code: Code.RESOURCE_EXHAUSTED, message: "too many watches" });
  gone.abort();
  t.match(await another(), { done: false });
});

t.test("a watch ends when its caller has gone, even while it waits", async (t) => {
  const { gone, watch, next } = setUp();
  await next();
  const waiting = watch.next();
  gone.abort();
  t.equal((await waiting).done, true);
});

t.test("a closing registry ends its watches", async (t) => {
  const { directory, watch, next } = setUp();
  await next();
  const waiting = watch.next();
  directory.close();
  await t.rejects(waiting, { code: Code.UNAVAILABLE });
  t.throws(() => directory.join(greeter(), local), { code: Code.UNAVAILABLE });
});

t.test("a change is confirmed when every watcher that confirms has applied it", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  const open = (requests: AsyncIterable<WatchRequest>) => directory.watch(new AbortController().signal, requests);
  const confirmations = new EventEmitter();
  const first = open(
    (async function* () {
      for await (const [confirmed] of on(confirmations, "applied")) yield { confirmed } as WatchRequest;
    })(),
  );
  // It ends its requests at once, so nobody waits for it.
  const other = open(never());
  await Promise.all([first.next(), other.next()]);
  directory.join(greeter(), local);
  t.equal(await directory.confirmed("greeter", 1), 1, "not yet sent");
  const confirmed = directory.confirmed("greeter", 60_000);
  await first.next();
  confirmations.emit("applied", 1n);
  t.equal(await directory.confirmed("greeter", 1), 1, "only the first message was applied");
  confirmations.emit("applied", 2n);
  t.equal(await confirmed, 0);
  t.equal(await directory.confirmed("helloworld", 1), 0, "of another service nothing has changed");
});

t.test("a watcher that leaves is not waited for", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  const gone = new AbortController();
  const silent = (async function* (): AsyncGenerator<WatchRequest> {
    yield { confirmed: 0n };
    await once(gone.signal, "abort");
  })();
  const watch = directory.watch(gone.signal, silent);
  await watch.next();
  directory.join(greeter(), local);
  const confirmed = directory.confirmed("greeter", 60_000);
  gone.abort();
  t.equal(await confirmed, 0);
});
