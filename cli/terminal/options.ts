/** Values of options that are more than text. */
import { InvalidArgumentError } from "commander";

/** An option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** `90d` as proto3 JSON writes durations, `7776000s`. */
export function duration(text: string): string {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined)
    throw new InvalidArgumentError("It must be like 30d, 24h, 15m or 10s.");
  return `${Number(count) * (SECONDS[unit] ?? 0)}s`;
}
