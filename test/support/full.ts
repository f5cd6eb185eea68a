/** Whether tests run at full length, as `npm run test:full` has them do; else explorations are cut to a sample. */
export const FULL = process.env.TEST_FULL === "1";
