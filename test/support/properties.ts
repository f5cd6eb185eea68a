/**
 * fast-check, for tests of properties. `npm run test:full` tries new inputs each time. Otherwise
 * the inputs are the same each time, so that a change fails only for its own errors. A failure
 * prints its seed.
 */
import fc from "fast-check";
import { FULL } from "./full.js";

if (!FULL) fc.configureGlobal({ seed: 1 });

export { fc };
