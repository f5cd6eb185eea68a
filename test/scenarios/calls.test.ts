// Calls a service from the command line, with its fields as options, at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";
import { joinShop } from "./shop.js";

t.test("calling services by their fields at a terminal", (t) =>
  replayInOneProcess(t, { transcript: "calls.txt", prepare: (data) => joinShop(t, data) }),
);
