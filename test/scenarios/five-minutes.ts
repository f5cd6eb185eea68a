/** The transcripts of docs/five-minutes.md. */
import { readFileSync } from "node:fs";
import { codeOf } from "../docs/markdown.js";

/**
 * The page's blocks of commands with their output: the first five minutes, services, and grpcurl.
 */
export function fiveMinutes(): string[] {
  return codeOf(readFileSync("docs/five-minutes.md", "utf8"), "console");
}
