import { resolve } from "node:path";

/** Runs grpcurl.ts, as a program of a transcript's terminal. */
export const GRPCURL = `exec node --import='${import.meta.resolve("tsx")}' '${resolve("test/scenarios/grpcurl.ts")}' "$@"`;
