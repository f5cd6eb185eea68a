// A service is called from the command line by its fields, at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";
import { joinShop } from "./shop.js";

t.test("calling services by their fields at a terminal", (t) =>
  replayInOneProcess(t, { transcript: "calls.txt", prepare: (data) => joinShop(t, data) }),
);
