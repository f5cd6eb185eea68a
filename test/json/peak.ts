/**
 * Reads or writes 4 MiB of JSON of some shape, or reads a form, once. Prints the maximum memory of
 * this process as a multiple of that size, including the JSON or form: `peak.ts read strings`,
 * `write` or `writeBody`, `form file`. Each shape needs its own process, because memory that was
 * freed may be used again without being measured. The maximum resident size is reset before (Linux,
 * proc_pid_clear_refs(5)).
 */
import { readFileSync, writeFileSync } from "node:fs";
import { readForm } from "../../gateway/dialects/json/bodies/form.js";
import { JsonError, TooLargeError } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import { FORMS, SHAPES } from "./shapes.js";
import { typeOf, types } from "./types.js";

const SIZE = 4 * 1024 ** 2;

const [direction, shape = ""] = process.argv.slice(2);
const { type: name, before, element, after } = { ...SHAPES, ...FORMS }[shape]!;
const type = typeOf(name);
const codec = compileCodecs(types)(type);
const few = Buffer.from(before + element(1) + after);
for (let round = 0; round < 500; round++) codec.write(read(few));

const memory = Buffer.alloc(SIZE);
let end = memory.write(before);
for (let at = 0; end < SIZE - 256; at++) end += memory.write(`${at === 0 ? "" : ","}${element(at)}`, end);
end += memory.write(after, end);
const body = memory.subarray(0, end);

if (direction === "read" || direction === "form") report(() => read(body));
else {
  const wire = compileCodecs(types, { maxMessage: SIZE * 8 })(type).read(body);
  report(direction === "write" ? () => codec.write(wire) : () => codec.writeBody(wire));
}

function read(text: Buffer): Uint8Array {
  return shape in FORMS ? readForm(type, codec, "multipart/form-data; boundary=form", text) : codec.read(text);
}

/**
 * The result of `make`. If it is too large, making it stops with an error, but its memory was
 * measured.
 */
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
  console.log((1 + (resident("VmHWM") - start) / body.length).toFixed(2));
}

/** Bytes. */
function resident(what: "VmRSS" | "VmHWM"): number {
  return Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(readFileSync("/proc/self/status", "utf8"))![1]) * 1024;
}
