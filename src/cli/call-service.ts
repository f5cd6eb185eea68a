/**
 * `portico helloworld call --name=Ada`: a first word that is no command is a service. Options after it are the fields
 * of the request, so Portico's own stand before it. Fields travel as query parameters: the gateway knows their types.
 */
import type { Command } from "commander";
import { nearest } from "../nearest.js";
import { connect } from "./connection.js";
import { describeService } from "./describe.js";
import { CommandError, EXIT } from "./exit.js";
import { CallFailure, TAKES_STREAM } from "./http.js";
import type { Io } from "./io.js";
import { printAnswers } from "./output.js";

export async function callService(io: Io, program: Command, service: string, words: readonly string[]): Promise<void> {
  const connection = connect(io, program);
  try {
    if (words.includes("--help") || words.includes("-h")) return await describeService(io, connection, service);
    const { endpoint, fields } = readWords(service, words);
    await printAnswers(io, connection.output, connection.client.queryForMany(service, endpoint, fields));
  } catch (error) {
    throw orStream(orMistyped(error, service, program), service, words);
  }
}

/** `--a.b=1`, `--a.b 1`, and `--flag` for true; `--user-id` is the field `user_id`. */
export function readWords(service: string, words: readonly string[]) {
  const rest = [...words];
  const endpoint = rest[0]?.startsWith("-") ? undefined : rest.shift();
  const fields = new URLSearchParams();
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [, name, value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) {
      const advice = `Fields are given as --name=value, JSON by: portico call ${service} ${endpoint ?? "Call"} '{…}'`;
      throw new CommandError(`What is "${word}"? ${advice}`, EXIT.usage);
    }
    const separate = rest[0]?.startsWith("--") ? undefined : rest[0];
    if (value === undefined && separate !== undefined) rest.shift();
    fields.append(fieldName(name), value ?? separate ?? "true");
  }
  return { endpoint, fields };
}

/** Names of fields have no dash; keys of maps, as in `labels[a-b]`, may. */
function fieldName(option: string): string {
  return option.replace(/\[[^\]]*\]|-/g, (part) => (part === "-" ? "_" : part));
}

/** An endpoint that takes a stream of messages cannot be called with fields. */
function orStream(error: unknown, service: string, [endpoint = "Call"]: readonly string[]): unknown {
  if (!(error instanceof CallFailure) || error.status !== TAKES_STREAM) return error;
  const advice = `Give them as JSON, one a line: portico call ${service} ${endpoint} < messages`;
  return new CommandError(`${service} ${endpoint} takes a stream of messages. ${advice}`, EXIT.usage);
}

/** There is no such service, or no gateway to ask: then a command may have been meant. */
function orMistyped(error: unknown, word: string, program: Command): unknown {
  const noService = error instanceof CallFailure && error.status === 404 && error.service === "gateway";
  const unanswered = error instanceof CommandError && !(error instanceof CallFailure) && error.exit !== EXIT.usage;
  if (!noService && !unanswered) return error;
  const commands = program.commands.map((command) => command.name());
  const meant = nearest(word, commands);
  const [, suggested = meant] = /; did you mean \/([^/?]+)/.exec(error.message) ?? [];
  const none = `There is no command or service ${word}.`;
  if (meant !== undefined) {
    // What the gateway said is repeated only where it adds something.
    const more = unanswered || suggested !== meant ? `\n${error.message}` : "";
    return new CommandError(`${none} Did you mean ${meant}?${more}`, EXIT.usage);
  }
  if (unanswered || suggested !== undefined) return error;
  return new CommandError(`${none} To see what there is: portico services, portico --help`, EXIT.usage);
}
