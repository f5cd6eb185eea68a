/**
 * Completion of a command line. An argument or option is declared with the source of its
 * candidates, and completion asks this source. If Portico does not know a name, the name is
 * compared with the candidates, too.
 */
import { Argument, Option } from "commander";
import type { Service } from "../../src/api/types.js";
import { didYouMean } from "../../src/contract/nearest.js";
import type { GatewayClient } from "../http/client.js";
import { CallFailure } from "../http/failure.js";

/** A word that is possible at a place on the command line. */
export interface Candidate {
  readonly text: string;
  /** A description, for shells that show it. */
  readonly about?: string;
  /** Whether more characters follow the word, so that the shell adds no space. */
  readonly open?: boolean;
}

/** The place on a command line where the user is typing. */
export interface CompletionPoint {
  /**
   * Returns a client for the gateway.
   * @throws {CommandError} when a setting cannot be used.
   */
  readonly connect: () => GatewayClient;
  readonly env: NodeJS.ProcessEnv;
  /** The arguments before this word. */
  readonly given: readonly string[];
  /** The part of the word that is typed so far. For `--option=value`, the value. */
  readonly current: string;
}

/** Returns the candidates for a place. If it throws, there are none. */
export type Source = (place: CompletionPoint) => readonly Candidate[] | Promise<readonly Candidate[]>;

export class CompletedOption extends Option {
  readonly source: Source | undefined;

  constructor(flags: string, description: string, source: Source | undefined) {
    super(flags, description);
    this.source = source;
  }
}

export class CompletedArgument extends Argument {
  readonly source: Source | undefined;

  constructor(usage: string, source: Source | undefined) {
    super(usage);
    this.source = source;
  }
}

/** Things that a user names, such as rules. */
export interface NamedItems<T> {
  /** @throws {CommandError} */
  readonly list: (client: GatewayClient) => Promise<readonly T[]>;
  readonly nameOf: (item: T) => string;
  /** The description that a shell shows next to the name. */
  readonly about?: (item: T) => string;
}

/** The names of a collection. */
export function namesOf<T>({ list, nameOf, about }: NamedItems<T>): Source {
  return async ({ connect }) => {
    const items = await list(connect());
    const candidates = new Map(items.map((item) => [nameOf(item), { text: nameOf(item), about: about?.(item) ?? "" }]));
    return [...candidates.values()];
  };
}

/**
 * Waits for a call that names an item of a collection.
 * @throws {CommandError} the error of the call. If the item was not found (404), the error suggests
 * the nearest name.
 */
export async function withSuggestion<T, I>(
  call: Promise<T>,
  name: string,
  client: GatewayClient,
  collection: NamedItems<I>,
) {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof CallFailure) || error.status !== 404) throw error;
    // A caller who may not list the names gets the error of the call.
    const items = await collection.list(client).catch(() => []);
    const names = items.map(collection.nameOf);
    // If the name exists, another word of the command is wrong.
    throw names.includes(name) ? error : error.with(didYouMean(name, names));
  }
}

/** The services that the caller may call, as the registry lists them. */
export const services: NamedItems<Service> = {
  list: async (client) => (await client.ask("registry/Registry/List")).services,
  nameOf: ({ name }) => name,
  about: ({ summary }) => firstSentence(summary),
};

export const serviceNames: Source = namesOf(services);

/** Patterns of resources: everything, each service, each endpoint. */
export const resources: Source = async ({ connect }) => {
  const listed = await services.list(connect()).catch(() => []);
  return [
    { text: "*:*:*", about: "everything" },
    ...listed.flatMap(({ name, endpoints }) => [
      { text: `service:${name}:*`, about: `every endpoint of ${name}` },
      ...endpoints.map(({ resource, summary }) => ({ text: resource, about: firstSentence(summary) })),
    ]),
  ];
};

/** The first sentence of a comment, such as `Greets a name.`, in one line. */
export function firstSentence(text: string): string {
  return (/^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text).replace(/\s+/g, " ");
}
