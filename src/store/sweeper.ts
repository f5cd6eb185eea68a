/** How often expired entries of services are deleted, in milliseconds. */
const INTERVAL_MS = 60_000;

/**
 * Sweeps a services' store regularly, until the timer is cleared. If a sweep fails, the next one
 * makes up for it.
 */
export function startSweeper(sweep: () => Promise<void>): NodeJS.Timeout {
  return setInterval(() => void sweep().catch(() => undefined), INTERVAL_MS).unref();
}
