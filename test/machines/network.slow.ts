/**
 * The machines of a cluster reach each other and this process, even with Docker's firewall. A link
 * can be cut and mended.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import t from "tap";
import { type Machine, Network } from "./network.js";

const PORT = 7_777;
const SERVE = `require("node:net").createServer((socket) => socket.end("here")).listen(${PORT}, "0.0.0.0", () => console.log("listens"))`;
const ASK = `const socket = require("node:net").connect(${PORT}, process.argv[1]);
socket.on("data", (data) => { console.log(String(data)); process.exit(); });
socket.setTimeout(1_000, () => { console.log("silence"); process.exit(); });`;

const network = new Network();

t.test("machines reach each other, unless their link is cut", { skip: network.whyNotCut ?? false }, async (t) => {
  const [one, other] = [network.add("one"), network.add("other")];
  const server = spawn("env", [...one.before, process.execPath, "-e", SERVE], { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(async () => {
    server.kill();
    await once(server, "close");
    network.close();
  });
  await once(server.stdout, "data");
  const ask = ({ before }: Pick<Machine, "before">): string =>
    execFileSync("env", [...before, process.execPath, "-e", ASK, one.host], { encoding: "utf8" }).trim();
  t.equal(ask(other), "here");
  t.equal(ask({ before: [] }), "here", "from this process's machine");
  network.cut(one, [other]);
  t.equal(ask(other), "silence");
  t.equal(ask({ before: [] }), "here");
  network.mend(one, [other]);
  t.equal(ask(other), "here");
});
