/** A transcript played against everything in one process, which it may start anew. */
import { readFileSync } from "node:fs";
import type { Test } from "tap";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { replay } from "./transcript.js";

/** @param file the transcript's, in this folder */
export async function replayInOneProcess(t: Test, file: string): Promise<void> {
  const data = await installation(t.testdir());
  let portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  const url = portico.address("HTTP");
  const restart = async () => {
    await portico.stop();
    portico = await start(["server"], { PORTICO_DATA: data, PORTICO_HTTP: new URL(url).host });
  };
  await replay(t, readFileSync(`test/scenarios/${file}`, "utf8"), { url, data, events: { restart } });
}
