/**
 * An authority whose store was deleted while it ran says so within seconds, although nobody changes
 * anything.
 */
import { rmSync } from "node:fs";
import t from "tap";
import { openAuthority } from "../../../services/auth/authority.js";
import { collectionOf } from "../../../src/store/collection.js";
import { openStore } from "../../../src/store/open.js";
import { CHEAP } from "../../support/passwords.js";
import { until } from "../../support/until.js";
import { silent } from "./open.js";

/** Long enough for a busy machine, and shorter than the minute after which a row is written. */
const SECONDS = 30_000;

t.test("an authority whose store was deleted says so without a change", async (t) => {
  const dataFolder = t.testdir();
  const store = await openStore("sqlite:", dataFolder);
  const options = { store, dataFolder, passwordCost: CHEAP, maxRules: 9, leaseMs: 500, log: silent };
  const authority = await openAuthority(options);
  t.teardown(async () => {
    await authority.close();
    await store.close();
  });
  const rows = collectionOf(store, "time");
  await until(async () => (await rows.keys()).length > 0, { what: () => "the row of the start is there" });
  // Commits are made in their order, so the start writes nothing any more.
  await rows.delete(["none"]);
  t.same(authority.errors(), []);
  rmSync(store.name);
  await until(() => authority.errors().length > 0, { within: SECONDS });
  t.same(authority.errors(), ["changes are refused: the store takes none. The log says why"]);
});
