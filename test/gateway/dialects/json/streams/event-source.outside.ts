// Earlier versions of npm's eventsource, which are still widely used, run a finished stream once.
import { createRequire } from "node:module";
import { join } from "node:path";
import t from "tap";
import { npmPackages } from "../../../../outside/tools.js";
import { checkEndsOnce, type EventSourceClass } from "./event-source.js";

t.setTimeout(120_000);

for (const version of ["2.0.2", "3.0.7"]) {
  const require = createRequire(join(npmPackages(`eventsource@${version}`), "node_modules", "index.js"));
  const loaded = require("eventsource") as EventSourceClass | { readonly EventSource: EventSourceClass };
  t.test(`a finished stream is not run again by eventsource ${version}`, (t) =>
    checkEndsOnce(t, "EventSource" in loaded ? loaded.EventSource : loaded),
  );
}
