/**
 * HTTP rules of a service configuration (`google.api.Service`, as for API gateways of Google and
 * for grpc-gateway), which give methods their REST paths instead of the annotations in the .proto
 * files. Here the text is read: as YAML, or as JSON. apply-http-rules.ts puts the rules into a
 * contract.
 */
import { MAX_HTTP_RULES } from "../../src/config/service-options.js";
import { isObject } from "../../src/config/setting-values.js";
import { HttpRule } from "../../src/gen/google/api/http.js";

/** A text that is no service configuration with HTTP rules. The message is for its author. */
export class HttpRulesError extends Error {}

/** A rule, and the methods that it selects. */
export interface SelectingRule {
  /** Full names of methods. A pattern that ends in `*` selects all names that begin like it. */
  readonly patterns: readonly string[];
  /** A serialized google.api.HttpRule. */
  readonly bytes: Uint8Array;
}

export interface HttpRules {
  readonly rules: readonly SelectingRule[];
  /**
   * The rules as a service configuration in JSON; empty without rules. Gateways get this form,
   * because it is read without the library for YAML.
   */
  readonly json: string;
}

const NO_RULES: HttpRules = { rules: [], json: "" };
/** The maximum number of bindings. */
const MAX_BINDINGS = 10_000;
/**
 * The maximum size of all rules together, in characters, with YAML's aliases resolved. An alias of
 * a few bytes may stand for a large value.
 */
const MAX_RESOLVED = 2 * MAX_HTTP_RULES;
/** A full name of a method, or names that begin alike (google.api.DocumentationRule.selector). */
const PATTERN = /^(?:\*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\.\*)?)$/;

/**
 * Reads the rules that an operator has set.
 * @param text a service configuration in YAML or JSON; empty for no rules
 * @throws {HttpRulesError} (rejects)
 */
export async function readHttpRules(text: string): Promise<HttpRules> {
  if (text === "") return NO_RULES;
  if (Buffer.byteLength(text) > MAX_HTTP_RULES) throw error(`has more than ${MAX_HTTP_RULES / 1024} KiB`);
  return new Reader().read(parseJson(text) ?? (await parseYaml(text)));
}

/**
 * Reads `HttpRules.json`, which an authority has made.
 * @throws {HttpRulesError}
 */
export function readResolvedRules(json: string): HttpRules {
  return json === "" ? NO_RULES : new Reader().read(parseJson(json));
}

function error(message: string): HttpRulesError {
  return new HttpRulesError(`httpRules ${message}`);
}

/** @returns undefined if the text is not JSON; it may still be YAML */
function parseJson(text: string): unknown {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function parseYaml(text: string): Promise<unknown> {
  // Loaded here, because most processes never read YAML.
  const { CORE_SCHEMA, load, YAMLException } = await import("js-yaml");
  try {
    return load(text, { schema: CORE_SCHEMA });
  } catch (thrown) {
    if (!(thrown instanceof YAMLException)) throw thrown;
    const line = thrown.mark === undefined ? "" : ` in line ${thrown.mark.line + 1}`;
    throw error(`is no YAML: ${thrown.reason}${line}`);
  }
}

/** A rule in the form of JSON. */
type RuleFields = Record<string, unknown>;

const METHODS = ["get", "put", "post", "delete", "patch"] as const;
/** The members of a rule. The name of each in JSON stands for its name in the .proto file, too. */
const NESTED_MEMBERS = [...METHODS, "custom", "body", "responseBody"];
const MEMBERS = ["selector", ...NESTED_MEMBERS, "additionalBindings"];
/** `fullyDecodeReservedExpansion` changes nothing: values of paths are always decoded so. */
const HTTP_MEMBERS = ["rules", "fullyDecodeReservedExpansion"];

class Reader {
  #bindings = 0;
  #length = 0;

  read(configuration: unknown): HttpRules {
    if (!isObject(configuration)) throw error("is no service configuration: it must have http with rules");
    const { type, http } = configuration;
    if (type !== undefined && type !== "google.api.Service")
      throw error(`must have the type google.api.Service, not ${shown(type)}`);
    const { rules } = membersOf(http, "http", HTTP_MEMBERS);
    if (!Array.isArray(rules)) throw error("is no service configuration: http.rules must be a list");
    const fields = rules.map((rule, index) => this.#rule(rule, `http.rules[${index}]`));
    return { rules: fields.map(toSelectingRule), json: JSON.stringify({ http: { rules: fields } }) };
  }

  #rule(value: unknown, place: string): RuleFields {
    const { additionalBindings = [], selector, ...binding } = membersOf(value, place, MEMBERS);
    const selected = this.#text(selector, `${place}.selector`);
    for (const pattern of patternsOf(selected)) {
      if (PATTERN.test(pattern)) continue;
      throw error(`${place}: the selector ${shown(pattern)} must be the full name of a method, or end in .*`);
    }
    if (!Array.isArray(additionalBindings)) throw error(`${place}.additional_bindings must be a list`);
    const more = additionalBindings.map((nested, index) => {
      const at = `${place}.additional_bindings[${index}]`;
      return this.#binding(membersOf(nested, at, NESTED_MEMBERS), at);
    });
    return { selector: selected, ...this.#binding(binding, place), additionalBindings: more };
  }

  #binding(binding: RuleFields, place: string): RuleFields {
    if (++this.#bindings > MAX_BINDINGS) throw error(`has more than ${MAX_BINDINGS} bindings`);
    const patterns = [...METHODS, "custom"].filter((name) => binding[name] !== undefined);
    if (patterns.length !== 1) throw error(`${place} must have one of ${METHODS.join(", ")}, custom`);
    const fields: RuleFields = {};
    for (const [name, value] of Object.entries(binding)) {
      const at = `${place}.${name}`;
      fields[name] = name === "custom" ? this.#custom(value, at) : this.#text(value, at);
    }
    return fields;
  }

  #custom(value: unknown, place: string): RuleFields {
    const { kind, path } = membersOf(value, place, ["kind", "path"]);
    return { kind: this.#text(kind, `${place}.kind`), path: this.#text(path, `${place}.path`) };
  }

  #text(value: unknown, place: string): string {
    if (typeof value !== "string") throw error(`${place} must be a text`);
    this.#length += value.length;
    if (this.#length > MAX_RESOLVED) throw error(`has more than ${MAX_RESOLVED / 1024} KiB with its aliases resolved`);
    return value;
  }
}

/** The members of an object, by their names in JSON. Members that are null count as absent. */
function membersOf(value: unknown, place: string, known: readonly string[]): RuleFields {
  if (!isObject(value)) throw error(`${place} must be an object`);
  const members: RuleFields = {};
  for (const [name, member] of Object.entries(value)) {
    const jsonName = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (!known.includes(jsonName)) throw error(`${place} has the unknown member ${shown(name)}; known are ${known}`);
    if (members[jsonName] !== undefined) throw error(`${place} has ${jsonName} twice`);
    if (member !== null) members[jsonName] = member;
  }
  return members;
}

function toSelectingRule({ selector, additionalBindings, ...binding }: RuleFields): SelectingRule {
  const rule = toHttpRule(binding);
  rule.selector = String(selector);
  rule.additionalBindings = (additionalBindings as RuleFields[]).map(toHttpRule);
  return { patterns: patternsOf(rule.selector), bytes: HttpRule.encode(rule).finish() };
}

function toHttpRule({ custom, body = "", responseBody = "", ...patterns }: RuleFields): HttpRule {
  const [name, value] = Object.entries(patterns)[0] ?? ["custom", custom];
  const pattern = { $case: name, value } as HttpRule["pattern"];
  return { selector: "", pattern, body: String(body), responseBody: String(responseBody), additionalBindings: [] };
}

function patternsOf(selector: string): string[] {
  return selector.split(",").map((pattern) => pattern.trim());
}

const MAX_SHOWN = 80;

function shown(value: unknown): string {
  return String(JSON.stringify(value)).slice(0, MAX_SHOWN);
}
