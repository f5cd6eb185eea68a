// Keys are hashed with two secrets that are new in each process: whoever knew them could make keys that all meet in one
// place.
import { execFileSync } from "node:child_process";
import t from "tap";
import { hashOfBytes, hashOfInteger } from "../../src/json/sets.js";

const NOTHING = new DataView(new ArrayBuffer(0));
const hashes = [hashOfBytes(new Uint8Array(), NOTHING, 0, 0)];
// The hash of no bytes is the first secret, and for this integer the first cancels out.
hashes.push(hashOfInteger(hashes[0]!, 1));

const inAnotherProcess = `
  import { hashOfBytes, hashOfInteger } from "./src/json/sets.ts";
  const first = hashOfBytes(new Uint8Array(), new DataView(new ArrayBuffer(0)), 0, 0);
  console.log(JSON.stringify([first, hashOfInteger(first, 1)]));
`;
const others: number[] = JSON.parse(
  execFileSync(process.execPath, ["--import=tsx", "--input-type=module", "--eval", inAnotherProcess]).toString(),
);

t.equal(others.length, 2);
t.not(hashes[0], others[0]);
t.not(hashes[1], others[1]);
