/**
 * Reads and writes 4 MiB of JSON of several shapes, each once, and prints for each how many times its size this process
 * needed at most, the JSON included. The highest resident size is reset in between (Linux, proc_pid_clear_refs(5)).
 */
import { readFileSync, writeFileSync } from "node:fs";
import { compileCodecs } from "../../src/json/compile.js";
import { typeOf, types } from "./types.js";

const SIZE = 4 * 1024 ** 2;

const SHAPES: Readonly<Record<string, [type: string, before: string, element: (at: number) => string, after: string]>> =
  {
    strings: ["Lists", '{"string":[', (at) => `"${"text ".repeat(20)}${at}"`, "]}"],
    numbers: ["Lists", '{"int32":[', (at) => String(at * 7), "]}"],
    messages: [
      "Lists",
      '{"message":[',
      (at) => `{"double":0.5,"int32":${at},"bool":true,"string":"number ${at}"}`,
      "]}",
    ],
    unicode: ["Lists", '{"string":[', (at) => `"${"漢字".repeat(20)}${at}"`, "]}"],
    map: ["Maps", '{"string":{', (at) => `"key number ${at}":"value ${at}"`, "}}"],
  };

const codecOf = compileCodecs(types, { omitZeros: true });
const memory = Buffer.alloc(SIZE + 1024);

for (const [shape, [type, before, element, after]] of Object.entries(SHAPES)) {
  const codec = codecOf(typeOf(type));
  const few = Buffer.from(before + element(1) + after);
  for (let round = 0; round < 500; round++) codec.write(codec.read(few));

  let end = memory.write(before);
  for (let at = 0; end < SIZE; at++) end += memory.write(`${at === 0 ? "" : ","}${element(at)}`, end);
  end += memory.write(after, end);
  const json = memory.subarray(0, end);
  report(`read ${shape}`, json.length, () => codec.read(json));
  const wire = codec.read(json);
  report(`write ${shape}`, json.length, () => codec.write(wire));
}

function report(title: string, size: number, run: () => { length: number }): void {
  globalThis.gc!();
  globalThis.gc!();
  writeFileSync("/proc/self/clear_refs", "5");
  const start = resident("VmRSS");
  if (run().length === 0) throw new Error("nothing was made");
  console.log(`${title}: ${((size + resident("VmHWM") - start) / size).toFixed(2)}`);
}

/** Bytes. */
function resident(what: "VmRSS" | "VmHWM"): number {
  return Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(readFileSync("/proc/self/status", "utf8"))![1]) * 1024;
}
