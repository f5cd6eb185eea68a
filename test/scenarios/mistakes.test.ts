// What the command line says to a person who does not know it yet, at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("mistakes at a terminal, and what the command line answers", (t) =>
  replayInOneProcess(t, { transcript: "mistakes.txt" }),
);
