/**
 * Writes the messages and endpoints of a service in Go: structs with Go's own types, which the
 * runtime reads by reflection.
 */
import type {
  EndpointContract,
  EnumContract,
  FieldContract,
  GroupContract,
  MessageContract,
  ServiceContract,
} from "./contract.js";
import { inWords, linesOf, pascal, Scope, sharedNames, typeNames } from "./names.js";
import type { FieldType, ValueType } from "./value-type.js";

/** Exported names of the runtime (src/client/portico*.go) and of the generated part. */
export const RESERVED_TYPES: readonly string[] = "BidiStream Client ClientStream Error HTTPBody New Options Ptr".split(
  " ",
);

const KEYWORDS: ReadonlySet<string> = new Set(
  "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var".split(
    " ",
  ),
);

/** The name of the package: the letters and digits of the service's name. */
export function packageName(service: string): string {
  const name = service.replace(/[^a-z0-9]/g, "").replace(/^(?=\d|$)/, "p");
  return KEYWORDS.has(name) || name === "main" || name === "init" ? `${name}client` : name;
}

export function writeGo(...contracts: readonly ServiceContract[]): string {
  const [scope, shared] = [new Scope(RESERVED_TYPES), sharedNames(contracts)];
  const writers = contracts.map((contract) => new GoWriter(contract, scope, shared));
  return [...writers.map((writer) => writer.write()), clientOf(contracts, writers)].join("\n");
}

/** The struct that has the services as members. */
function clientOf(contracts: readonly ServiceContract[], writers: readonly GoWriter[]): string {
  const names = new Scope();
  const members = writers.map((writer) => [names.add(writer.member), writer] as const);
  const width = Math.max(...members.map(([name]) => name.length));
  const made = members.map(([name, { made }]) => `${name}: ${made}`);
  const one = `\treturn &Client{${made.join(", ")}}\n`;
  const several = `\treturn &Client{\n${members.map(([name, { made }]) => `\t\t${`${name}:`.padEnd(width + 1)} ${made},\n`).join("")}\t}\n`;
  return `// Client is a client of Portico with ${inWords(contracts)}. It is safe for use by several goroutines.
type Client struct {
${members.map(([name, { typeName }]) => `\t${name.padEnd(width)} *${typeName}\n`).join("")}}

// New makes a client. The zero Options read PORTICO_URL, PORTICO_TOKEN and PORTICO_NAMESPACE.
func New(options Options) *Client {
	t := newTransport(options)
${members.length === 1 ? one : several}}
`;
}

interface Group {
  readonly group: GroupContract;
  readonly typeName: string;
  /**
   * The gRPC service's name as a member of the service, or undefined for the service's own
   * endpoints.
   */
  readonly member: string | undefined;
  readonly methods: readonly (readonly [name: string, endpoint: EndpointContract])[];
}

class GoWriter {
  readonly #contract: ServiceContract;
  readonly #scope: Scope;
  readonly #names: ReadonlyMap<string, string>;
  readonly typeName: string;
  readonly #groups: readonly Group[];

  constructor(contract: ServiceContract, scope: Scope, shared: ReadonlySet<string>) {
    this.#contract = contract;
    this.#scope = scope;
    this.#names = typeNames(contract, scope, shared);
    this.typeName = this.#scope.add(`${exported(contract.name)}Service`);
    const members = new Scope();
    this.#groups = contract.groups.map((group) => {
      const name = group.name === undefined ? undefined : members.add(exported(group.name));
      const scope = name === undefined ? members : new Scope();
      const typeName = name === undefined ? this.typeName : this.#scope.add(`${exported(contract.name)}${name}Service`);
      const methods = group.endpoints.map((one) => [scope.add(exported(one.name)), one] as const);
      return { group, typeName, member: name, methods };
    });
  }

  /** The name of the service in the client. */
  get member(): string {
    return exported(this.#contract.name);
  }

  /** The expression that makes the service, with the transport `t`. */
  get made(): string {
    const members = this.#others.map((group) => `, ${group.member}: &${group.typeName}{transport: t}`).join("");
    return `&${this.typeName}{transport: t${members}}`;
  }

  get #others(): Group[] {
    return this.#groups.filter(({ member }) => member !== undefined);
  }

  write(): string {
    const { messages, enums } = this.#contract;
    const main = this.#groups.find(({ member }) => member === undefined);
    const others = this.#others;
    return [
      ...enums.map((one) => this.#enumeration(one)),
      ...messages.map((message) => this.#message(message)),
      ...others.map((group) => this.#service(group.typeName, group.group.comment, group, [])),
      this.#service(this.typeName, this.#contract.comment, main, others),
    ].join("\n");
  }

  #enumeration({ name, comment, deprecated, values }: EnumContract): string {
    const own = this.#names.get(name) ?? "";
    const constants = values.map((value) => {
      const short = value.replace(new RegExp(`^${name.split(".").at(-1)}_`, "i"), "");
      return `const ${this.#scope.add(own + words(short))} ${own} = ${quoted(value)}\n`;
    });
    const about = [comment, "A value that the contract does not name is the digits of its number."];
    return `${doc(about.filter((text) => text !== "").join("\n\n"), deprecated)}type ${own} string\n\n${constants.join("\n")}`;
  }

  #message({ name, comment, deprecated, sent, received }: MessageContract): string {
    const scope = new Scope();
    const fields = (sent ?? received ?? []).map((field) => this.#field(scope.add(exported(field.name)), field));
    const body = fields.length === 0 ? "struct{}" : `struct {\n${fields.join("\n")}}`;
    return `${doc(comment, deprecated)}type ${this.#names.get(name)} ${body}\n`;
  }

  #field(name: string, { name: json, type, optional, comment, deprecated }: FieldContract): string {
    const tag = `json:${quoted(`${json},omitempty`)}`;
    const written = /[`\r]|[^\x20-\x7e]/.test(tag) ? quoted(tag) : `\`${tag}\``;
    return `${doc(comment, deprecated, "\t")}\t${name} ${this.#fieldType(type, optional)} ${written}\n`;
  }

  #fieldType({ many, key, value }: FieldType, optional: boolean): string {
    const one = this.#value(value);
    if (many === "list") return `[]${one}`;
    if (many === "map") return `map[${KEYS[key]}]${one}`;
    return optional && !/^(?:\*|\[|map\[|any$)/.test(one) ? `*${one}` : one;
  }

  #value(type: ValueType): string {
    switch (type.kind) {
      case "message":
        return `*${this.#names.get(type.name)}`;
      case "enum":
        return this.#names.get(type.name) ?? "string";
      case "int":
        return `${type.signed ? "" : "u"}int${type.bits}`;
      case "float":
        return `float${type.bits}`;
      default:
        return PLAIN[type.kind];
    }
  }

  #service(name: string, comment: string, group: Group | undefined, others: readonly Group[]): string {
    const members = [
      "\ttransport *transport\n",
      ...others.map(({ group, member, typeName }) => `${doc(group.comment, false, "\t")}\t${member} *${typeName}\n`),
    ];
    const methods = (group?.methods ?? []).map(([method, endpoint]) => `\n${this.#method(name, method, endpoint)}`);
    return `${doc(comment, false)}type ${name} struct {\n${members.join("\n")}}\n${methods.join("")}`;
  }

  #method(typeName: string, name: string, endpoint: EndpointContract): string {
    const { path, shape, idempotent } = endpoint;
    const sent = endpoint.takesBytes ? "*HTTPBody" : this.#value(endpoint.request);
    const received = endpoint.returnsBytes ? "*HTTPBody" : this.#value(endpoint.response);
    const { runtime, sends, result } = SHAPES[shape](sent, received);
    const about = `endpoint{${[quoted(this.#contract.name), quoted(path), `${idempotent}`].join(", ")}}`;
    const [parameter, argument] = sends ? ["", ""] : [`, request ${sent}`, ", request"];
    return `${doc(endpoint.comment, endpoint.deprecated)}func (s *${typeName}) ${name}(ctx context.Context${parameter}) ${result} {
	return ${runtime}(ctx, s.transport, ${about}${argument})
}
`;
  }
}

/** How the runtime calls an endpoint with the request type S and the response type A. */
const SHAPES: Readonly<
  Record<EndpointContract["shape"], (S: string, A: string) => { runtime: string; sends?: true; result: string }>
> = {
  unary: (_, A) => ({ runtime: `unary[${A}]`, result: `(${A}, error)` }),
  server: (_, A) => ({ runtime: `stream[${A}]`, result: `iter.Seq2[${A}, error]` }),
  client: (S, A) => ({
    runtime: `clientStream[${S}, ${A}]`,
    sends: true,
    result: `(*ClientStream[${S}, ${A}], error)`,
  }),
  bidi: (S, A) => ({ runtime: `bidiStream[${S}, ${A}]`, sends: true, result: `(*BidiStream[${S}, ${A}], error)` }),
};

const KEYS: Readonly<Record<FieldType["key"], string>> = {
  string: "string",
  bool: "bool",
  int: "int64",
  uint: "uint64",
};

const PLAIN: Readonly<Record<Exclude<ValueType["kind"], "message" | "enum" | "int" | "float">, string>> = {
  string: "string",
  bool: "bool",
  bytes: "[]byte",
  null: "any",
  none: "any",
  timestamp: "time.Time",
  duration: "time.Duration",
  mask: "string",
  struct: "map[string]any",
  list: "[]any",
  value: "any",
  any: "map[string]any",
};

/** `AdminOnly` of `ADMIN_ONLY`. */
function words(value: string): string {
  return exported(/[a-z]/.test(value) ? value : value.toLowerCase());
}

/** A name that is visible to other packages. */
function exported(name: string): string {
  return pascal(name).replace(/^(?=[^A-Z])/, "X");
}

/** A string literal. JSON's escapes are also Go's, except for halves of surrogate pairs. */
function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    /[^\x20-\x7e]/gu,
    (one) => `\\U${(one.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`,
  );
}

/**
 * A comment. Every line of the text begins with two slashes and a space, so no line is a directive.
 */
function doc(comment: string, deprecated: boolean, indent = ""): string {
  const lines = [...linesOf(comment), ...(deprecated ? ["", "Deprecated: the contract marks it as deprecated."] : [])];
  const first = lines.findIndex((line) => line !== "");
  return first < 0
    ? ""
    : lines
        .slice(first)
        .map((line) => `${indent}// ${line.trim()}`.trimEnd().concat("\n"))
        .join("");
}
