// npm start: installs and builds what is missing or stale, then runs `portico server` with the arguments given.
import { setup } from "./setup.mjs";

await setup();
const { build } = await import("./build.mjs");
await build();
process.argv.splice(1, 1, "dist/portico.js", "server");
await import("../dist/portico.js");
