// What Node has as globals behind getters, which are called anew at each use and keep the code that uses them from being
// compiled well. Where the bundle names these it has the modules' own instead.
export { Buffer } from "node:buffer";
export { performance } from "node:perf_hooks";
