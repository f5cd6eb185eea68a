// Installs what the benchmarks and the conformance suite need beyond the product's own dependencies.
import { setup } from "./setup.mjs";

await setup();
await setup("bench");
