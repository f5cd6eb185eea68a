/** Enrols a service that runs on the authority's machine: its token is in the data folder, where its process looks for it. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createToken, hashToken } from "../../src/access/token.js";
import { writeOnce } from "../../src/folder.js";
import { enrolmentCreated } from "./endpoints/enrolments.js";
import { type Journal, PORTICO } from "./log/journal.js";
import { hex } from "./log/state.js";

/**
 * Makes sure that the file of a service's enrolment token, `enrolment/<name>`, holds a valid one. A token that was revoked
 * is replaced by another, never made valid again.
 */
export async function enrolLocally(journal: Journal, dataFolder: string, name: string): Promise<void> {
  const file = join(dataFolder, "enrolment", name);
  if (existsSync(file) && journal.state.tokens.has(hex(hashToken(readToken(file))))) return;
  rmSync(file, { force: true });
  writeOnce(file, () => createToken("enrolment"));
  const token = readToken(file);
  await journal.commit(PORTICO, () => [enrolmentCreated(name, token, { beside: true })]);
}

function readToken(file: string): string {
  return readFileSync(file, "utf8").trim();
}
