/**
 * Whether tests run at full length, as in `npm run test:full`. Otherwise explorations run only a
 * sample.
 */
export const FULL = process.env.TEST_FULL === "1";

/** All of them at full length; otherwise one of each `every`, always the same ones. */
export function sampleOf<T>(all: readonly T[], every: number): readonly T[] {
  return FULL ? all : all.filter((_, index) => index % every === 0);
}
