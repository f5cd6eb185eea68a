import { resolve } from "node:path";

/** A shell script that runs grpcurl.ts, for the terminal of a transcript. */
export const GRPCURL = `exec node --import='${import.meta.resolve("tsx")}' '${resolve("test/scenarios/grpcurl.ts")}' "$@"`;
