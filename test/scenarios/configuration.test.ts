// Rules in Git, at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("export, diff and apply", (t) => replayInOneProcess(t, { transcript: "configuration.txt" }));
