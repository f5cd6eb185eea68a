/**
 * Searches the services. Every word of the query must be in the service's name or summary, or in an
 * endpoint's name, summary or fields. A match in a name counts more than a match in a text. A match
 * at the start of a word counts more than a match inside the word.
 */

export interface Searchable {
  readonly name: string;
  readonly summary: string;
  readonly endpoints: readonly { readonly name: string; readonly summary: string }[];
}

/** The names of an endpoint's fields; undefined while they are not loaded. */
export type FieldsOf = (service: string, endpoint: string) => readonly string[] | undefined;

export interface Found<Service extends Searchable> {
  readonly service: Service;
  /** Endpoints in which words were found, and the fields in which words were found. */
  readonly endpoints: readonly { readonly name: string; readonly fields: readonly string[] }[];
}

export function wordsOf(query: string): string[] {
  return query
    .toLowerCase()
    .split(/[\s/:]+/)
    .filter((word) => word !== "");
}

/** The best matches come first, equal ones in the given order. An empty query finds everything. */
export function search<Service extends Searchable>(
  services: readonly Service[],
  query: string,
  fieldsOf: FieldsOf,
): Found<Service>[] {
  const words = wordsOf(query);
  if (words.length === 0) return services.map((service) => ({ service, endpoints: [] }));
  return services
    .map((service) => find(service, words, fieldsOf))
    .filter((found) => found !== undefined)
    .sort((one, other) => other.score - one.score)
    .map(({ service, endpoints }) => ({ service, endpoints }));
}

function find<Service extends Searchable>(service: Service, words: readonly string[], fieldsOf: FieldsOf) {
  const known = service.endpoints.map(({ name, summary }) => ({
    name,
    summary,
    fields: fieldsOf(service.name, name) ?? [],
  }));
  const best = words.map((word) =>
    Math.max(
      5 * inName(service.name, word),
      inText(service.summary, word),
      ...known.map(({ name, summary, fields }) =>
        Math.max(3 * inName(name, word), inText(summary, word), ...fields.map((field) => 2 * inName(field, word))),
      ),
    ),
  );
  if (best.includes(0)) return undefined;
  const endpoints = known.flatMap(({ name, summary, fields }) => {
    const matching = fields.filter((field) => words.some((word) => inName(field, word) > 0));
    const matches = words.some((word) => inName(name, word) > 0 || inText(summary, word) > 0);
    return matches || matching.length > 0 ? [{ name, fields: matching }] : [];
  });
  return { service, endpoints, score: best.reduce((sum, score) => sum + score, 0) };
}

/**
 * Returns 2 if the name or a word in it begins with `word`, 1 if `word` is elsewhere in the name,
 * otherwise 0.
 */
function inName(name: string, word: string): number {
  const at = name.toLowerCase().indexOf(word);
  if (at < 0) return 0;
  const begins = at === 0 || !/[a-z0-9]/i.test(name[at - 1]!) || /[A-Z]/.test(name[at]!);
  return begins ? 2 : 1;
}

function inText(text: string, word: string): number {
  return text.toLowerCase().includes(word) ? 1 : 0;
}

/** Splits a text so that every second part is a word of the query. */
export function chunks(text: string, words: readonly string[]): string[] {
  const found = words.filter((word) => word !== "").map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (found.length === 0) return [text];
  // Longest first, because a word may be inside another.
  found.sort((one, other) => other.length - one.length);
  return text.split(new RegExp(`(${found.join("|")})`, "i"));
}
