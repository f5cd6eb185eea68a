/**
 * A process that logs a line and exits as soon as it gets a message, before the log would have
 * written the line.
 */
import { createLog } from "../../src/log.js";

const log = createLog("info");
process.once("message", () => {
  log.info("the last line");
  process.exit(7);
});
process.send?.("ready");
