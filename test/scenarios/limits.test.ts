// Creating, changing, listing and deleting limits of calls, at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("managing limits of calls at a terminal", (t) => replayInOneProcess(t, { transcript: "limits.txt" }));
