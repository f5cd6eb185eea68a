// Installs what the benchmarks and the conformance suite need in addition to the product's own
// dependencies.
import { setup } from "./setup.mjs";

await setup();
await setup("bench");
