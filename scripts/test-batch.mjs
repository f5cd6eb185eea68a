// The names of the programs that run test files: scripts/test.mjs compiles them, the reporter finds by them what they noted.

/** Node's runner sorts programs by name: those that start processes, which take longest, are not to be the last. */
export function nameOfBatch(index) {
  return `batch-${`${index}`.padStart(3, "0")}`;
}
