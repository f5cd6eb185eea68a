// The snippets that need only what every developer of Portico has. Each runs exactly as the page
// shows it, in an empty folder.
import { spawnSync } from "node:child_process";
import t from "tap";
import { openShopFront } from "./shop-front.js";
import { checkSnippets, program } from "./snippets.js";

const setting = await openShopFront(t);

const noCurl = spawnSync("curl", ["--version"]).status !== 0;
t.test("curl", { skip: noCurl && "there is no curl here" }, (t) =>
  checkSnippets(t, setting, "curl", program(["sh"], "call.sh", setting)),
);
// Node.js 20 has WebSocket only with an option, as the snippet says.
const flags = Number.parseInt(process.versions.node, 10) < 22 ? ["--experimental-websocket"] : [];
t.test("Node.js", (t) => checkSnippets(t, setting, "node", program([process.execPath, ...flags], "call.mjs", setting)));
t.test("portico", (t) => checkSnippets(t, setting, "portico", program(["sh"], "call.sh", setting)));
