// npm start: installs and builds what is missing or out of date, then runs `portico server` with
// the given arguments.
import { setup } from "./setup.mjs";

await setup();
const { build } = await import("./build.mjs");
await build();
process.argv.splice(1, 1, "dist/portico.js", "server");
await import("../dist/portico.js");
