// The authority logs once that its store fails, and once that it works again; not while it stops.
import { pino } from "pino";
import t from "tap";
import { StoreWatch } from "../../../services/auth/log/changelog/store-watch.js";

function watching(stopping = new AbortController().signal): { watch: StoreWatch; logged: string[] } {
  const logged: string[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line).msg) });
  return { watch: new StoreWatch({ log, now: () => 0, stopping }), logged };
}

const failing = (): Promise<void> => Promise.reject(new Error("disk I/O error"));
const working = (): Promise<void> => Promise.resolve();

t.test("a store that fails is logged once, and once that it responds again", async (t) => {
  const { watch, logged } = watching();
  await t.rejects(watch.run(failing), /disk I\/O/);
  await t.rejects(watch.run(failing), /disk I\/O/);
  await watch.run(working);
  await watch.run(working);
  t.match(logged, [/^the store does not respond/, /^the store responds again/]);
  t.equal(logged.length, 2);
});

t.test("what fails while the authority stops is not the store's fault", async (t) => {
  const stopping = new AbortController();
  const { watch, logged } = watching(stopping.signal);
  stopping.abort();
  await t.rejects(watch.run(failing), /disk I\/O/);
  t.same(logged, []);
});
