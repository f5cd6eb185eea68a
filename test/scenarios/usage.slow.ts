// The command line shows how often endpoints are called, at a real terminal. A gateway reports its
// counts when it stops.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("the number of calls of each endpoint, at a terminal", (t) =>
  replayInOneProcess(t, { transcript: "usage.txt" }),
);
