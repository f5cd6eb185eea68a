/**
 * Commits that were acknowledged to services survive `kill -9` at any moment, and every commit is
 * complete.
 */
import { join } from "node:path";
import t from "tap";
import { openServiceStore } from "../../src/store/open.js";
import { bundleInto } from "../support/bundle.js";
import { checkWritten, interruptedWriter } from "./interrupted-service-writer.js";

const ROUNDS = 60;

t.test(`kill -9 during commits, ${ROUNDS} times`, async (t) => {
  const folder = t.testdir();
  const program = await bundleInto(folder, "test/store/service-writer.ts");
  const url = `sqlite:${join(folder, "services.sqlite")}`;
  let known = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const acknowledged = await interruptedWriter(program, [url, `${round * 1_000_000}`]);
    known += acknowledged.length;
    const store = await openServiceStore(url, folder);
    await checkWritten(t, store, acknowledged);
    await store.close();
  }
  t.ok(known > ROUNDS, `${known} commits were acknowledged`);
});
