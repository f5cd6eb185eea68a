/**
 * How every command is declared. Its help shows examples first, and fits into a terminal with 80
 * columns.
 */
import { Command, InvalidArgumentError } from "commander";
import { quantity } from "../../src/config/setting-values.js";

/** @param usage name and arguments, such as `rule <id>` */
export function newCommand(usage: string, summary: string): Command {
  const [name, ...declared] = usage.split(" ");
  const command = new Command(name).description(summary);
  for (const argument of declared) command.argument(argument);
  return command;
}

/** Puts examples first in a command's help. */
export function examples(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText("before", `Examples:\n${lines.map((line) => `  ${line}\n`).join("")}`);
}

/** The words of a command: `portico auth list`. */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

/** Parses an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * Parses a duration as a user writes it, `90d`. Returns it in the form of proto3 JSON, `7776000s`.
 * @throws {InvalidArgumentError}
 */
export function parseDuration(text: string): string {
  const seconds = quantity(text, SECONDS);
  if (!Number.isSafeInteger(seconds)) throw new InvalidArgumentError("It must be like 30d, 24h, 15m or 10s.");
  return `${seconds}s`;
}

/**
 * Parses a time as a user writes it, a day or a moment in UTC. Returns it in the form of proto3
 * JSON.
 * @throws {InvalidArgumentError}
 */
export function parseInstant(text: string): string {
  const isKnown = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const date = new Date(isKnown ? text : Number.NaN);
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw new InvalidArgumentError("It must be like 2026-11-24, or 2026-11-24T09:30:00Z.");
}
