/**
 * Whether tests run at full length, as in `npm run test:full`. Otherwise explorations run only a
 * sample.
 */
export const FULL = process.env.TEST_FULL === "1";
