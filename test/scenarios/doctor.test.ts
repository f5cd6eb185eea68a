// What an operator sees from `portico doctor` at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("portico doctor at a terminal", (t) => replayInOneProcess(t, { transcript: "doctor.txt" }));
