// Adding, changing, listing, importing and removing configured services, at a real terminal.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";
import { joinShop } from "./shop.js";
import { replay } from "./transcript.js";

t.test("managing services that join by their address, at a terminal", async (t) => {
  const data = await installation(t.testdir());
  const files = temporaryFolder(t);
  await joinShop(t, files);
  const config = join(files, "portico.json");
  const [{ target, descriptors }] = JSON.parse(readFileSync(config, "utf8")).services;
  const portico = await start(["server"], {
    PORTICO_DATA: data,
    PORTICO_OWN_SERVICES: "helloworld",
    PORTICO_HTTP: "127.0.0.1:0",
  });
  t.teardown(() => portico.stop());
  const values = { config, target: target[0], descriptors };
  const url = portico.address("HTTP");
  await replay(t, readFileSync("test/scenarios/services.txt", "utf8"), { url, data, values });
});
