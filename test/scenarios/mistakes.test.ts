// The command line's errors for a new user's mistakes, at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("mistakes at a terminal, and the command line's errors", (t) =>
  replayInOneProcess(t, { transcript: "mistakes.txt" }),
);
