// The first day of an administrator, at a real terminal, with everything in one process.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("the first day of an administrator, with everything in one process", (t) =>
  replayInOneProcess(t, { transcript: "first-day.txt" }),
);
