// The names of the programs that run test files. scripts/test.mjs compiles them. The reporter uses
// the names to find their notes.

/**
 * Node's runner sorts programs by name. Programs that start processes take longest, so they must
 * not be last.
 */
export function nameOfBatch(index) {
  return `batch-${`${index}`.padStart(3, "0")}`;
}
