/** The entry point of the program. */

import { run } from "./program.js";
import { EXIT } from "./terminal/exit.js";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // It is not an error when a reader, such as `head`, closes the pipe early.
  if (error.code === "EPIPE") process.exit(EXIT.ok);
  process.stderr.write(`The output cannot be written: ${error.message}\n`);
  process.exit(EXIT.failed);
});

const { stdin, stdout, stderr, env } = process;
process.exitCode = await run(process.argv.slice(2), { stdin, stdout, stderr, env, signal: stop.signal });
