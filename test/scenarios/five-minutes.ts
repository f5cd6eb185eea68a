/** The transcripts of docs/five-minutes.md. */
import { readFileSync } from "node:fs";
import { codeOf } from "../docs/markdown.js";

/** Its blocks of commands with what they show: the first five minutes, services, and grpcurl. */
export function fiveMinutes(): string[] {
  return codeOf(readFileSync("docs/five-minutes.md", "utf8"), "console");
}
