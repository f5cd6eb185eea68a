/**
 * Which field of a new issuer, trust or client the authority refused, and why. Its fields have the
 * names of the request's fields.
 */
import { linesOf } from "./lines.js";

/** `sign_in.client_id: must …` and `redirect_uris[1]: must …` */
const FIELD = /^(?:\w+\.)?(\w+)(?:\[(\d+)\])?: (.*)$/s;

/** Errors that tell what is taken or missing, and not in which field. */
const WORDS: readonly (readonly [words: RegExp, field: string])[] = [
  [/^an? \w+ with the name .+ exists already$/, "name"],
  [/^no issuer with the name /, "issuer"],
  [/^no account with the name /, "account"],
  [/^another namespace has trusts in this issuer with the audience /, "audience"],
  [/^the trust .+ has the same audience and subject$/, "subject"],
  [/^no JWT with this jti /, "jti"],
];

/** None if the error is about no field of the draft. Of a field with lines, it names the line. */
export function problemsWith<Draft extends object>(
  { message }: { readonly message: string },
  draft: Draft,
): Readonly<Record<string, string>> {
  const [, name = "", index, problem = ""] = FIELD.exec(message) ?? [];
  const field = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  if (Object.hasOwn(draft, field)) {
    const lines = linesOf(String(draft[field as keyof Draft]));
    return { [field]: index === undefined ? asSentence(problem) : `${lines[Number(index)]}: ${problem}` };
  }
  const told = WORDS.find(([words]) => words.test(message))?.[1];
  return told !== undefined && Object.hasOwn(draft, told) ? { [told]: asSentence(message) } : {};
}

function asSentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
