/**
 * A process of profile.test.ts. It takes the refresh token ten times, and each time replaces it
 * with the next one.
 */
import { Profile } from "../../../cli/http/profile.js";

for (let times = 0; times < 10; times++) {
  const taken = await new Profile("default", process.env).take();
  if (taken === undefined) throw new Error("there was no token");
  process.stdout.write(`${taken.token}\n`);
  taken.replace(String(Number(taken.token) + 1));
  taken.release();
}
