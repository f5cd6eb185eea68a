/** How often entries of services whose time has passed are deleted, in milliseconds. */
const INTERVAL_MS = 60_000;

/** Sweeps a store of services regularly, until the timer is cleared. A sweep that fails is made up for by the next one. */
export function startSweeper(sweep: () => Promise<void>): NodeJS.Timeout {
  return setInterval(() => void sweep().catch(() => undefined), INTERVAL_MS).unref();
}
