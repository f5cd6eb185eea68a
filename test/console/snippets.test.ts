// The snippets that need nothing but what every developer of Portico has, each run exactly as the page shows it.
import { spawnSync } from "node:child_process";
import t from "tap";
import { openShopFront } from "./shop-front.js";
import { checkSnippets, program } from "./snippets.js";

const setting = await openShopFront(t);

const noCurl = spawnSync("curl", ["--version"]).status !== 0;
t.test("curl", { skip: noCurl && "there is no curl here" }, (t) =>
  checkSnippets(t, setting, "curl", program(["sh"], "call.sh", setting)),
);
t.test("Node.js with undici", (t) =>
  checkSnippets(t, setting, "undici", program([process.execPath], "call.mjs", setting)),
);
t.test("portico", (t) => checkSnippets(t, setting, "portico", program(["sh"], "call.sh", setting)));
