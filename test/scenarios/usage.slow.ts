// What the command line shows of usage, at a real terminal. A gateway reports what it has counted when it stops.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("how often each endpoint is called, shown at a terminal", (t) =>
  replayInOneProcess(t, { transcript: "usage.txt" }),
);
