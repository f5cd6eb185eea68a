/** What the nouns of `portico auth` have in common: a table of items, deletion by name, a secret that is shown once. */
import { type NamedItems, withSuggestion } from "../command/candidates.js";
import { type CommandFactory, type GatewayCommand, gatewayCommand } from "../command/command.js";
import type { CommandConnection } from "../command/connection.js";
import { CommandError } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { type Column, printItem, printList } from "../terminal/output.js";

/** What can be done to a noun. Each is a command; some, such as `set scopes` and `set password`, are two. */
export type Verb = "list" | "create" | "delete" | "set" | "rotate";
export type Noun = { readonly [V in Verb]?: CommandFactory | readonly CommandFactory[] };

interface List<T> extends Pick<NamedItems<T>, "list"> {
  /** `rules` */
  readonly plural: string;
  readonly summary: string;
  readonly columns: readonly Column<T>[];
  /** What is said on stderr where there is nothing to list. */
  readonly ifEmpty?: string;
}

/** `portico auth list <plural>` */
export function listCommand<T>({ plural, summary, list, columns, ifEmpty }: List<T>): CommandFactory {
  return gatewayCommand({
    usage: plural,
    summary,
    examples: [`portico auth list ${plural}`, `portico auth list ${plural} -o json`],
    async run({ io, client, output }) {
      const items = await list(client);
      await printList(io, output, items, columns);
      if (items.length === 0 && ifEmpty !== undefined) io.stderr.write(`${ifEmpty}\n`);
    },
  });
}

interface Delete<T, A extends readonly unknown[]>
  extends Pick<GatewayCommand<[name: string, ...A]>, "usage" | "summary" | "examples" | "options" | "completion"> {
  /** Where the name is looked for: the error for an unknown one suggests the nearest. */
  readonly collection: NamedItems<T>;
  /** Said when it is done. */
  readonly done: string;
  /** Gives the answer to print; undefined where something else has been printed. */
  readonly request: (connection: CommandConnection, name: string, ...rest: A) => Promise<unknown>;
}

/** `portico auth delete <noun> <name>` */
export function deleteCommand<T, A extends readonly unknown[]>({ collection, done, request, ...words }: Delete<T, A>) {
  return gatewayCommand<[name: string, ...A]>({
    ...words,
    async run(connection, name, ...rest) {
      const { io, client, output } = connection;
      const response = await withSuggestion(request(connection, name, ...rest), name, client, collection);
      if (response !== undefined) await printItem(io, output, { name, value: response, text: [done] });
    },
  });
}

/** A secret that cannot be shown again. */
interface Secret {
  readonly secret: string;
  /** What has been created with it. */
  readonly response: unknown;
  /** What else there is to know. */
  readonly words: string;
  /** The command that deletes what has been created. */
  readonly deletion: string;
}

/**
 * Prints a secret alone on stdout, so that `KEY=$(portico auth create key ci)` works, and the words on stderr.
 * @throws {CommandError} when stdout does not take it
 */
export async function printSecret({ io, output }: CommandConnection, { secret, response, words, deletion }: Secret) {
  const error = await errorOf(io, () => printItem(io, output, { name: secret, value: response, text: [secret] }));
  if (error !== undefined) {
    const problem = `It has been created, but its secret could not be printed: ${error.message}`;
    throw new CommandError(`${problem}. Delete it: ${deletion}`);
  }
  io.stderr.write(`${words} Keep it: it cannot be shown again.\n`);
}

/** Why stdout did not take what was printed; undefined where it did. */
async function errorOf({ stdout }: Io, print: () => Promise<void>): Promise<Error | undefined> {
  let fault: Error | undefined;
  // Otherwise the program ends at the first error.
  stdout.removeAllListeners("error").on("error", (error) => {
    fault ??= error;
  });
  await print();
  await new Promise((resolve) => stdout.write("", resolve));
  return fault;
}
