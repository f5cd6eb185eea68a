// Exports of the audit trail and of usage, at a terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("exports of the audit trail and of usage, at a terminal", (t) =>
  replayInOneProcess(t, { transcript: "audit.txt" }),
);
