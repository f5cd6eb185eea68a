/**
 * Conversion between JSON and wire bytes: Portico's codec, its peers, and JSON.parse and
 * JSON.stringify alone.
 *
 *     node --import=tsx bench/json.ts [--shape=mixed] [--rounds=15] [--ms=20]
 *
 * All candidates get the same bytes and make the same message. They take turns in rounds, so that
 * other work on the machine affects all of them equally. The result is the median of the rounds, in
 * processor time. Peers first decode the bytes to a string, as they must for bytes from a socket.
 * JSON.parse alone gets the string.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { type DescMessage, fromBinary, fromJsonString, toBinary, toJsonString } from "@bufbuild/protobuf";
import protobuf from "protobufjs";
import protojson from "protobufjs/ext/protojson.js";
import { readDescriptors } from "../src/contract/endpoint.js";
import { compileCodecs } from "../src/json/compile.js";
import { type Sample, samples } from "./shapes.js";

/** A message type as ts-proto generates it. */
interface Generated {
  encode(message: unknown): { finish(): Uint8Array };
  decode(wire: Uint8Array): unknown;
  fromJSON(json: unknown): unknown;
  toJSON(message: unknown): unknown;
}

interface Candidate {
  readonly name: string;
  /** JSON to wire bytes. The result contains their number. */
  read(): unknown;
  /** Wire bytes to JSON. */
  write(): unknown;
}

const FOLDER = import.meta.dirname;
const ROOT = `${FOLDER}/..`;
/** Generated code is in a folder that is not searched for sources. */
const GENERATED = `${FOLDER}/node_modules/.generated`;

const buf = (...args: string[]) =>
  execFileSync(`${ROOT}/node_modules/.bin/buf`, args, { cwd: FOLDER, maxBuffer: 2 ** 26 });

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      shape: { type: "string" },
      size: { type: "string" },
      rounds: { type: "string", default: "15" },
      ms: { type: "string", default: "20" },
      only: { type: "string" },
    },
  });
  const tsProto = await generateTsProto();
  const types = readDescriptors(buf("build", ".", "--path", "shapes.proto", "--as-file-descriptor-set", "-o", "-"));
  const root = protobuf.loadSync(`${FOLDER}/shapes.proto`);
  const codecOf = compileCodecs(types);

  const wanted = samples().filter(
    ({ shape, size }) =>
      (options.shape === undefined || shape === options.shape) && (options.size === undefined || size <= +options.size),
  );
  console.log("µs a message, medians; × is how many times the peer takes\n");
  for (const direction of ["read", "write"] as const) {
    console.log(direction === "read" ? "JSON to wire" : "\nwire to JSON");
    console.log(row(["shape", "bytes", "Portico", "@bufbuild", "", "ts-proto", "", "protobufjs", "", "JSON", ""]));
    for (const sample of wanted) {
      const type = types.getMessage(sample.type);
      if (type === undefined) throw new Error(`no message ${sample.type}`);
      const text = JSON.stringify(sample.value);
      const all = candidates(sample, text, type, codecOf(type), root.lookupType(sample.type), tsProto);
      const medians = race(
        all.filter(({ name }) => options.only === undefined || name === options.only),
        direction,
        Number(options.rounds),
        Number(options.ms),
      );
      const own = medians.get("Portico") ?? 0;
      const cells = [...medians].flatMap(([name, time]) =>
        name === "Portico" ? [micros(time)] : [micros(time), `${(time / own).toFixed(2)}×`],
      );
      console.log(row([sample.shape, String(text.length), ...cells]));
    }
  }
}

function candidates(
  { type: name }: Sample,
  text: string,
  type: DescMessage,
  codec: ReturnType<ReturnType<typeof compileCodecs>>,
  reflected: protobuf.Type,
  tsProto: Record<string, Generated>,
): Candidate[] {
  const json = Buffer.from(text);
  const wire = Buffer.from(codec.read(json));
  const value = JSON.parse(text);
  const generated = tsProto[name.slice("bench.".length)]!;
  return [
    { name: "Portico", read: () => codec.read(json), write: () => codec.write(wire) },
    {
      name: "@bufbuild",
      read: () => toBinary(type, fromJsonString(type, json.toString("utf8"))),
      write: () => toJsonString(type, fromBinary(type, wire), { alwaysEmitImplicit: true }),
    },
    {
      name: "ts-proto",
      read: () => generated.encode(generated.fromJSON(JSON.parse(json.toString("utf8")))).finish(),
      write: () => JSON.stringify(generated.toJSON(generated.decode(wire))),
    },
    {
      name: "protobufjs",
      read: () => reflected.encode(protojson.fromJsonString(reflected, json.toString("utf8"))).finish(),
      write: () => protojson.toJsonString(reflected, reflected.decode(wire)),
    },
    { name: "JSON", read: () => JSON.parse(text), write: () => JSON.stringify(value) },
  ];
}

/** The median time of a run, in nanoseconds, by candidate. */
function race(all: readonly Candidate[], direction: "read" | "write", rounds: number, ms: number): Map<string, number> {
  const times = new Map(all.map(({ name }) => [name, [] as number[]]));
  const runs = new Map(all.map((candidate) => [candidate, warmUp(candidate[direction], ms)]));
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < all.length; turn++) {
      const candidate = all[(turn + round) % all.length]!;
      times.get(candidate.name)!.push(measure(candidate[direction], runs.get(candidate)!));
    }
  }
  return new Map([...times].map(([name, list]) => [name, list.sort((a, b) => a - b)[list.length >> 1]!]));
}

/** Runs until the code is compiled. Returns how many runs fill `ms`. */
function warmUp(run: () => unknown, ms: number): number {
  const start = processorTime();
  let count = 0;
  while (processorTime() - start < 5e6 * ms || count < 5) {
    run();
    count++;
  }
  return Math.max(1, Math.round(count / 5));
}

let sink: unknown;

function measure(run: () => unknown, count: number): number {
  const start = processorTime();
  for (let at = 0; at < count; at++) sink = run();
  return (processorTime() - start) / count;
}

/**
 * Nanoseconds of processor time that this process has used, including its garbage collection. Real
 * time would include waits for other processes.
 */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

async function generateTsProto(): Promise<Record<string, Generated>> {
  mkdirSync(GENERATED, { recursive: true });
  const template = JSON.stringify({
    version: "v2",
    plugins: [
      {
        local: `${ROOT}/node_modules/.bin/protoc-gen-ts_proto`,
        out: GENERATED,
        include_imports: true,
        opt: ["env=node", "esModuleInterop=true", "importSuffix=.js", "forceLong=bigint", "outputServices=none"],
      },
    ],
  });
  buf("generate", ".", "--path", "shapes.proto", "--template", template);
  return import(`${GENERATED}/shapes.ts`);
}

function micros(nanoseconds: number): string {
  return (nanoseconds / 1000).toPrecision(3);
}

function row(cells: readonly string[]): string {
  return cells.map((cell, at) => (at === 0 ? cell.padEnd(8) : cell.padStart(at === 1 ? 8 : 10))).join("");
}

await main();
if (sink === undefined) throw new Error("nothing was measured");
