// What the command line tells of calls, at a real terminal. A gateway hands in what it has counted when it stops.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("who calls what, shown at a terminal", (t) => replayInOneProcess(t, "usage.txt"));
