// Globals that Node defines with getters. A getter is called at each use, and prevents good
// compilation of the code that uses it. In the bundle, these names refer to the exports of the
// modules instead.
export { Buffer } from "node:buffer";
export { performance } from "node:perf_hooks";
