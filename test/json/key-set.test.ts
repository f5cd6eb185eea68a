// Keys are hashed with two secrets that are new in each process. With known secrets, a caller could
// create keys that all collide.
import { execFileSync } from "node:child_process";
import t from "tap";
import { hashOfBytes, hashOfInteger } from "../../src/json/sets.js";

const NOTHING = new DataView(new ArrayBuffer(0));
const hashes = [hashOfBytes(new Uint8Array(), NOTHING, 0, 0)];
// The hash of an empty key is the first secret. In the hash of this integer, the first secret
// cancels out.
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
