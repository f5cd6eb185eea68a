// Calls that built-in services have acknowledged survive `kill -9`, and every change is complete.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import t from "tap";
import { BUILT_IN_SERVICES } from "../../cli/roles/built-in-services.js";
import { bundleInto } from "../support/bundle.js";
import { type Message, serveCatalogue } from "../support/catalogue.js";
import { temporaryFolder } from "../support/temporary.js";

const KILLS = 10;

/**
 * Lets the program write until it has acknowledged a number of rounds, and kills it.
 * @returns the last round
 */
async function writeAndKill(program: string, folder: string, start: number, rounds: number): Promise<number> {
  const child = spawn(process.execPath, [program, folder, `${start}`], { stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(child, "exit");
  let last = start - 1;
  for await (const line of createInterface(child.stdout)) {
    last = Number(line);
    if (last === start + rounds - 1) child.kill("SIGKILL");
  }
  const [, signal] = await exit;
  if (signal !== "SIGKILL") throw new Error("the writer failed");
  return last;
}

t.test(`acknowledged calls survive kill -9, ${KILLS} times`, async (t) => {
  const program = await bundleInto(t.testdir(), "test/services/killed-writer.ts");
  const folder = temporaryFolder(t);
  let last = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    // The round that was interrupted may have been written in some services, so its number is not
    // used again.
    last = await writeAndKill(program, folder, last === 0 ? 1 : last + 2, 1 + kill);
  }
  const rounds = last - (KILLS - 1);

  const call = async (service: string, endpoint: string, request: object): Promise<Message> =>
    serveCatalogue(t, service, await BUILT_IN_SERVICES[service]!(), { folder }).call(endpoint, request);
  const atLeast = (found: unknown, what: string) => {
    const number = Number(found);
    t.ok(number >= rounds && number <= rounds + KILLS, `${what}: ${found}, of ${rounds} that were acknowledged`);
  };
  atLeast((await call("cache", "Get", { key: "visits" })).value, "counts of cache");
  const { count } = await call("db", "Count", { table: "people" });
  atLeast(count, "records of db");
  t.equal((await call("db", "Read", { table: "people", limit: 1000 })).records.length, count, "as many as are counted");
  const { events, next } = await call("event", "Read", { topic: "orders", limit: 1000 });
  atLeast(events.length, "events");
  t.equal(Number(next), events.length + 1, "without a gap in their offsets");
  const { items, length } = await call("lists", "Range", { list: "groceries", limit: 1000 });
  atLeast(length, "items of a list");
  t.equal(new Set(items).size, length, "all of them there");
  atLeast((await call("notes", "List", { limit: 100 })).notes.length, "notes");
  atLeast((await call("url", "List", { limit: 100 })).links.length, "links");
  const { balance } = await call("wallet", "Balance", { id: "ada" });
  atLeast(balance, "credits of wallet");
  const { transactions } = await call("wallet", "Transactions", { id: "ada", limit: 1000 });
  t.equal(transactions.length, Number(balance), "with a transaction each");
});
