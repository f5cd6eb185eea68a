// The preview of a change of rules, at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("previewing a change of rules at a terminal", (t) => replayInOneProcess(t, { transcript: "preview.txt" }));
