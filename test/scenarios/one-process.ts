/** Replays a transcript against `portico server`. */
import { readFileSync } from "node:fs";
import type { Test } from "tap";
import { installation } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { start } from "../support/process.js";
import { GRPCURL } from "./grpcurl-program.js";
import { replay } from "./transcript.js";

interface Options {
  /** The name of a file in this folder, or the transcript itself. */
  readonly transcript: string;
  /** Prepares the data folder before the start. */
  readonly prepare?: (data: string) => Promise<unknown>;
  /** Environment variables of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * The built-in services that run; default `helloworld`, so that a transcript shows only its
   * subject.
   */
  readonly ownServices?: string;
}

/**
 * Replays a transcript. It may stop and restart the server, and use grpcurl with the gRPC port,
 * `{grpc}`.
 */
export async function replayInOneProcess(
  t: Test,
  { transcript, prepare, env: more = {}, ownServices = "helloworld" }: Options,
): Promise<void> {
  const data = await installation(t.testdir());
  await prepare?.(data);
  // A port that the system does not give to other processes while the server is stopped.
  const http = `127.0.0.1:${await freePort()}`;
  const env = { PORTICO_DATA: data, PORTICO_OWN_SERVICES: ownServices, PORTICO_HTTP: http, ...more };
  let portico = await start(["server"], env);
  t.teardown(() => portico.stop());
  const stop = async () => void (await portico.stop());
  const restart = async () => {
    await stop();
    portico = await start(["server"], env);
  };
  const text = transcript.endsWith(".txt") ? readFileSync(`test/scenarios/${transcript}`, "utf8") : transcript;
  const values = { grpc: portico.address("gRPC") };
  await replay(t, text, {
    url: portico.address("HTTP"),
    data,
    values,
    programs: { grpcurl: GRPCURL },
    events: { stop, restart },
  });
}
