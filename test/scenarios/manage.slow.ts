// Every command for rules, accounts, keys, namespaces and enrolments, at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("managing rules, accounts, keys, namespaces and enrolments at a terminal", (t) =>
  replayInOneProcess(t, { transcript: "manage.txt" }),
);
