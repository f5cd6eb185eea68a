/** A key is told by its prefix, or by its name where that is the name of one key only. */
import { nearest } from "../../src/contract/nearest.js";
import type { Client } from "../http/client.js";
import { CommandError, EXIT } from "../terminal/exit.js";

interface Key {
  readonly prefix: string;
  readonly name: string;
}

const PREFIX = /^ptk_/;

/**
 * The prefix of a key.
 * @throws {CommandError} when no key has the name, or several have.
 */
export async function keyPrefix(client: Client, given: string): Promise<string> {
  if (PREFIX.test(given)) return given;
  const { keys } = await client.authority<{ keys: readonly Key[] }>("Keys/List");
  const [one, ...others] = keys.filter(({ name }) => name === given);
  if (one === undefined) {
    const meant = nearest(
      given,
      keys.map(({ name }) => name),
    );
    throw new CommandError(`no key with the name ${given}${meant === undefined ? "" : `; did you mean ${meant}?`}`);
  }
  if (others.length === 0) return one.prefix;
  const prefixes = [one, ...others].map(({ prefix }) => prefix).join(", ");
  throw new CommandError(`Several keys have the name ${given}. Give the prefix of one: ${prefixes}`, EXIT.usage);
}
