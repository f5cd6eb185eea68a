/** The transcripts of README. */
import { readFileSync } from "node:fs";

/** Its blocks of commands with what they show: the first five minutes, services, and grpcurl. */
export function readmeTranscripts(): string[] {
  return [...readFileSync("README.md", "utf8").matchAll(/```console\n(.*?)```/gs)].map(([, block]) => block as string);
}
