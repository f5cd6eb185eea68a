/**
 * Reads or writes 4 MiB of JSON of some shape, once, and prints how many times its size this process needed at most, the
 * JSON included: `peak.ts read strings`, `write` or `writeBody`. One shape a process, since memory that was freed may be used again unnoticed.
 * The highest resident size is reset before (Linux, proc_pid_clear_refs(5)).
 */
import { readFileSync, writeFileSync } from "node:fs";
import { JsonError, TooLargeError } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import { SHAPES } from "./shapes.js";
import { typeOf, types } from "./types.js";

const SIZE = 4 * 1024 ** 2;

const [direction, shape = ""] = process.argv.slice(2);
const { type: name, before, element, after } = SHAPES[shape]!;
const type = typeOf(name);
const codec = compileCodecs(types)(type);
const few = Buffer.from(before + element(1) + after);
for (let round = 0; round < 500; round++) codec.write(codec.read(few));

const memory = Buffer.alloc(SIZE);
let end = memory.write(before);
for (let at = 0; end < SIZE - 256; at++) end += memory.write(`${at === 0 ? "" : ","}${element(at)}`, end);
end += memory.write(after, end);
const json = memory.subarray(0, end);

if (direction === "read") report(() => codec.read(json));
else {
  const wire = compileCodecs(types, { maxMessage: SIZE * 8 })(type).read(json);
  report(direction === "write" ? () => codec.write(wire) : () => codec.writeBody(wire));
}

/** What is made; where it is too large, what was made of it is given up, and counts all the same. */
function made(make: () => Uint8Array | string): Uint8Array | string {
  try {
    return make();
  } catch (error) {
    if (error instanceof TooLargeError) return error.message;
    if (error instanceof JsonError && error.message.includes("larger than")) return error.message;
    throw error;
  }
}

function report(make: () => Uint8Array | string): void {
  globalThis.gc!();
  globalThis.gc!();
  writeFileSync("/proc/self/clear_refs", "5");
  const start = resident("VmRSS");
  if (made(make).length === 0) throw new Error("nothing was made");
  console.log((1 + (resident("VmHWM") - start) / json.length).toFixed(2));
}

/** Bytes. */
function resident(what: "VmRSS" | "VmHWM"): number {
  return Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(readFileSync("/proc/self/status", "utf8"))![1]) * 1024;
}
