/**
 * What the nouns of `portico auth` have in common: a table of items, deletion by name, and a secret
 * that is shown once.
 */
import { type NamedItems, withSuggestion } from "../command/candidates.js";
import { type CommandFactory, type GatewayCommand, gatewayCommand } from "../command/command.js";
import type { CommandConnection } from "../command/connection.js";
import { CommandError } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { type Column, printItem, printList } from "../terminal/output.js";

/**
 * The verbs for a noun. Each is a command. Some, such as `set scopes` and `set password`, are two
 * commands.
 */
export type Verb = "list" | "create" | "delete" | "set" | "rotate" | "revoke" | "export";
export type Noun = { readonly [V in Verb]?: CommandFactory | readonly CommandFactory[] };

interface List<T> extends Pick<NamedItems<T>, "list"> {
  /** `rules` */
  readonly plural: string;
  readonly summary: string;
  readonly columns: readonly Column<T>[];
  /** Printed on stderr if there is nothing to list. */
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
  /**
   * The items among which the name is searched. The error for an unknown name suggests the nearest
   * one.
   */
  readonly collection: NamedItems<T>;
  /** Printed after the deletion. */
  readonly done: string;
  /** Returns the response to print, or undefined if it has printed something itself. */
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
  /** What was created with the secret. */
  readonly response: unknown;
  /** Further text for the user. */
  readonly words: string;
  /** The command that deletes what was created. */
  readonly deletion: string;
}

/**
 * Prints only the secret on stdout, so that `KEY=$(portico auth create key ci)` works. Prints the
 * text on stderr.
 * @throws {CommandError} when writing to stdout fails
 */
export async function printSecret({ io, output }: CommandConnection, { secret, response, words, deletion }: Secret) {
  const error = await errorOf(io, () => printItem(io, output, { name: secret, value: response, text: [secret] }));
  if (error !== undefined) {
    const problem = `It has been created, but its secret could not be printed: ${error.message}`;
    throw new CommandError(`${problem}. Delete it: ${deletion}`);
  }
  io.stderr.write(`${words === "" ? "" : `${words} `}Keep it: it cannot be shown again.\n`);
}

/** The error of writing to stdout, or undefined if it succeeded. */
async function errorOf({ stdout }: Io, print: () => Promise<void>): Promise<Error | undefined> {
  let failure: Error | undefined;
  // Without this listener, the program would end at the first error.
  stdout.removeAllListeners("error").on("error", (error) => {
    failure ??= error;
  });
  await print();
  await new Promise((resolve) => stdout.write("", resolve));
  return failure;
}
