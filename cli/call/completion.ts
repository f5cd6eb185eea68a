/** Completion after the name of a service: its endpoints, and the fields of a request. */
import { type Candidate, type CompletionPoint, firstSentence, type Source, services } from "../command/candidates.js";
import { FORMATS } from "../terminal/output.js";
import { type CommandEndpoint, findEndpoint, readContract } from "./contract.js";
import { isOutput } from "./words.js";

/** Endpoint paths in the form that `portico call <service>` accepts. */
export const endpointPaths: Source = async ({ connect, given: [service = ""] }) => {
  const listed = await services.list(connect());
  const endpoints = listed.find(({ name }) => name === service.toLowerCase())?.endpoints ?? [];
  return endpoints.map(({ path, summary }) => ({
    text: path.split("/").slice(3).join("/"),
    about: firstSentence(summary),
  }));
};

/** Candidates after `portico <service>`: words of endpoints, then fields, and `-o`. */
export async function afterService({ connect, given, current }: CompletionPoint): Promise<readonly Candidate[]> {
  const [service = "", ...words] = given;
  if (words.length > 0 && isOutput(words.at(-1) ?? "")) return FORMATS.map((text) => ({ text }));
  const endpoints = await readContract(connect(), service);
  const options = words.findIndex((word) => word.startsWith("-"));
  const named = options < 0 ? words : words.slice(0, options);
  if (current.startsWith("-")) {
    const endpoint = findEndpoint(endpoints, named.length === 0 ? undefined : named.join("/"));
    return [
      ...fieldsOf(endpoint, current),
      { text: "-o", about: "json, yaml, name" },
      { text: "--help", about: "show its fields" },
    ];
  }
  return words.length === named.length ? nextWords(endpoints, named) : [];
}

/** The next word of each endpoint that begins with the given words. */
function nextWords(endpoints: readonly CommandEndpoint[], given: readonly string[]): Candidate[] {
  const next = new Map<string, Candidate>();
  for (const { words, comment } of endpoints) {
    const all = words.split(" ");
    const text = all[given.length];
    if (text === undefined || given.some((word, index) => word.toLowerCase() !== all[index])) continue;
    next.set(text, { text, about: all.length === given.length + 1 ? firstSentence(comment) : "" });
  }
  return [...next.values()];
}

/**
 * `--name=` for a field, `--gift` for a boolean. Once the name of an enum field is typed: each of
 * its values.
 */
function fieldsOf(endpoint: CommandEndpoint | undefined, current: string): Candidate[] {
  if (endpoint?.takesFlags !== true) return [];
  return endpoint.fields.flatMap(({ name, type, comment }): Candidate[] => {
    const about = firstSentence(comment);
    const flag = `--${name.replace("[key]", "[")}`;
    if (type === "boolean") return [{ text: flag, about }];
    if (type.includes("|") && current.startsWith(`${flag}=`))
      return type.split("|").map((value) => ({ text: `${flag}=${value}` }));
    return [{ text: name.endsWith("[key]") ? flag : `${flag}=`, about, open: true }];
  });
}
