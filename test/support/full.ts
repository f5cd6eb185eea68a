/**
 * Whether tests run at full length, as in `npm run test:full`. Otherwise explorations run only a
 * sample.
 */
export const FULL = process.env.TEST_FULL === "1";

/** All items at full length; otherwise one of every `every` items, always the same ones. */
export function sampleOf<T>(all: readonly T[], every: number): readonly T[] {
  return FULL ? all : all.filter((_, index) => index % every === 0);
}
