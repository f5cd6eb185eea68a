/** What the banner says of the first password. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { banner } from "../../../cli/roles/banner.js";
import { loadConfig } from "../../../src/config/config.js";

t.test("the first password is shown, but not if its file was deleted since: it is valid no longer", (t) => {
  const data = t.testdir();
  const firstStart = { passwordFile: join(data, "admin-password"), password: "k7mfq-x2nrt-8hdwc-v3pgy" };
  const running = { firstStart, notReady: () => undefined, stop: async () => {} };
  const show = () => banner({ title: "server", running, config: loadConfig({ data }, {}), hasStore: true, env: {} });
  writeFileSync(firstStart.passwordFile, firstStart.password);
  t.match(show(), firstStart.password);
  rmSync(firstStart.passwordFile);
  t.notMatch(show(), firstStart.password);
  t.end();
});
