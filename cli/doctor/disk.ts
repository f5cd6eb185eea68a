/** The folders in which a role writes: their permissions, and the space on their disks. */
import { constants, existsSync } from "node:fs";
import { access, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { type Finding, findingsOf, inTime } from "./finding.js";

const { ok, warning, problem } = findingsOf("disk");

const MIB = 1024 ** 2;
/** A store that has less space soon refuses changes, in bytes. */
const MIN_FREE = 64 * MIB;
/** Less than both of these, in bytes and as a share of the disk, is a warning. */
const LOW = { bytes: 5 * 1024 * MIB, share: 0.1 };

/** Space on a disk, in bytes, and how many files can still be made. */
export interface Space {
  readonly free: number;
  readonly total: number;
  /** Undefined if the file system has no limit. */
  readonly freeFiles: number | undefined;
}

/** @param setting the variable that names another folder */
export async function checkFolder(folder: string, setting: string): Promise<readonly Finding[]> {
  const there = existingFolder(folder);
  try {
    await inTime(`${there} does not respond`, access(there, constants.R_OK | constants.W_OK | constants.X_OK));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) return [problem(`${message}: see whether its disk or its server responds`)];
    return [
      problem(`This user may not write in ${there} (${code}): give it the right to, or name another in ${setting}`),
    ];
  }
  const { bavail, blocks, bsize, files, ffree } = await inTime(`${there} does not respond`, statfs(there));
  const freeFiles = files > 0 ? ffree : undefined;
  return [spaceFinding(there, { free: bavail * bsize, total: blocks * bsize, freeFiles })];
}

export function spaceFinding(folder: string, { free, total, freeFiles }: Space): Finding {
  const left = `${inUnits(free)} of ${inUnits(total)} are free on the disk of ${folder}`;
  if (free < MIN_FREE) return problem(`${left}: make room, before the store refuses changes`);
  if (freeFiles === 0) return problem(`The disk of ${folder} can hold no further files: delete some`);
  if (free < LOW.bytes && free < total * LOW.share) return warning(`${left}: make room soon`);
  return ok(left);
}

/** The folder itself, or the nearest one above it that exists: a start creates the others. */
function existingFolder(folder: string): string {
  return existsSync(folder) ? folder : existingFolder(dirname(folder));
}

function inUnits(bytes: number): string {
  return bytes < 10 * 1024 * MIB ? `${Math.floor(bytes / MIB)} MiB` : `${Math.floor(bytes / MIB / 1024)} GiB`;
}
