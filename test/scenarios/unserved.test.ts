// The warning for a rule about a service or endpoint that does not exist.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("a warning for a rule about a service that does not exist", (t) =>
  replayInOneProcess(t, { transcript: "unserved.txt" }),
);
