// Only few connections may wait in the system until the HTTP port accepts them. A connection that
// waits for longer than its client costs a handshake and is of no use.
import { spawnSync } from "node:child_process";
import { platform } from "node:os";
import t from "tap";
import { echo, open } from "./dial.js";

const ATTEMPTS = 1_000;
/**
 * How long connections may still be established after the last one was established, in
 * milliseconds.
 */
const QUIET = 300;

/** Connects again and again, until no more connections are established, and prints their number. */
const CLIENT = `
const { connect } = require("node:net");
let established = 0;
let timer;
for (let count = 0; count < ${ATTEMPTS}; count++) {
  const socket = connect(Number(process.argv[1]), "127.0.0.1", () => {
    established++;
    clearTimeout(timer);
    timer = setTimeout(() => { console.log(established); process.exit(); }, ${QUIET});
  });
  socket.on("error", () => {});
}`;

t.test(
  "at most about 500 wait while the process is busy",
  { skip: platform() !== "linux" && "Linux alone" },
  async (t) => {
    const { address } = await open(t, echo);
    // The event loop of this process is blocked meanwhile.
    const { stdout, stderr } = spawnSync(process.execPath, ["-e", CLIENT, String(address.port)], {
      encoding: "utf8",
      timeout: 30_000,
    });
    const established = Number(stdout);
    t.ok(established > 0, `it connects: ${stderr}`);
    t.ok(established < 700, `${established} of ${ATTEMPTS} are established`);
  },
);
