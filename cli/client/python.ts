/**
 * Writes the messages and endpoints of a service in Python: dataclasses with Python's own types,
 * which the runtime reads.
 */
import type {
  EndpointContract,
  EnumContract,
  FieldContract,
  GroupContract,
  MessageContract,
  ServiceContract,
} from "./contract.js";
import { inWords, linesOf, pascal, Scope, sharedNames, snake, typeNames } from "./names.js";
import type { FieldType, ValueType } from "./value-type.js";

/** Classes of the runtime (src/client/portico_*.py), of the generated part, and of the language. */
export const RESERVED_TYPES: readonly string[] = [
  ..."AsyncBidiStream BidiStream AsyncPortico AsyncPorticoClient HttpBody Portico PorticoClient PorticoError Self TokenFunction".split(
    " ",
  ),
  ..."AssertionError BaseException Ellipsis Exception False KeyError None NotImplemented True TypeError ValueError".split(
    " ",
  ),
];

const KEYWORDS: readonly string[] = [
  ..."False None True and as assert async await break class continue def del elif else except finally for from global".split(
    " ",
  ),
  ..."if import in is lambda nonlocal not or pass raise return try while with yield".split(" "),
];
/**
 * Names of types in type hints. If a class had a member with such a name, a hint in the class would
 * refer to the member.
 */
const TYPES: readonly string[] = "bool bytes contextlib dataclasses datetime dict float int list str typing".split(" ");

export function writePython(...contracts: readonly ServiceContract[]): string {
  const [scope, shared] = [new Scope(RESERVED_TYPES), sharedNames(contracts)];
  const writers = contracts.map((contract) => new PythonWriter(contract, scope, shared));
  const clients = FORMS.map((form) => clientOf(form, contracts, writers));
  return [...writers.map((writer) => writer.write()), ...clients].join("\n\n");
}

/** The class that has the services as members. */
function clientOf(
  { prefix, base }: Form,
  contracts: readonly ServiceContract[],
  writers: readonly PythonWriter[],
): string {
  const names = new Scope(KEYWORDS);
  const members = writers.map(({ name, className }) => {
    return `        self.${names.add(snake(name))} = ${prefix}${className}(self)\n`;
  });
  return `class ${prefix}Portico(${base}):
    """A client of Portico with ${inWords(contracts)}${prefix === "" ? "" : ", for asyncio"}."""

    def _bind(self) -> None:
${members.join("")}`;
}

/** Maximum characters of a line. Applies only to the lines that are measured. */
const MAX_LINE = 120;

/** The two clients: one blocks during a call, the other is for asyncio. */
const FORMS = [
  { prefix: "", base: "PorticoClient", define: "def", wait: "", async: "" },
  { prefix: "Async", base: "AsyncPorticoClient", define: "async def", wait: "await ", async: "_async" },
] as const;
type Form = (typeof FORMS)[number];

interface Group {
  readonly group: GroupContract;
  readonly className: string;
  /**
   * The gRPC service's name as a member of the service, or undefined for the service's own
   * endpoints.
   */
  readonly member: string | undefined;
  readonly methods: readonly (readonly [name: string, endpoint: EndpointContract])[];
}

class PythonWriter {
  readonly #contract: ServiceContract;
  readonly #names: ReadonlyMap<string, string>;
  readonly className: string;
  readonly #groups: readonly Group[];

  constructor(contract: ServiceContract, scope: Scope, shared: ReadonlySet<string>) {
    this.#contract = contract;
    this.#names = typeNames(contract, scope, shared);
    const classNames = (name: string) => {
      let free = scope.add(name);
      while (scope.add(`Async${free}`) !== `Async${free}`) free = scope.add(`${free}_`);
      return free;
    };
    this.className = classNames(pascal(contract.name));
    const members = new Scope(this.#reserved(contract.groups.filter(({ name }) => name === undefined)));
    this.#groups = contract.groups.map((group) => {
      const member = group.name === undefined ? undefined : members.add(snake(group.name));
      const className =
        member === undefined ? this.className : classNames(`${this.className}${pascal(group.name ?? "")}`);
      const scope = member === undefined ? members : new Scope(this.#reserved([group]));
      return { group, className, member, methods: group.endpoints.map((one) => [scope.add(snake(one.name)), one]) };
    });
  }

  get name(): string {
    return this.#contract.name;
  }

  write(): string {
    const { messages, enums } = this.#contract;
    const parts = [
      ...enums.map((one) => this.#enumeration(one)),
      ...messages.map((message) => this.#message(message)),
      ...FORMS.flatMap((form) => this.#services(form)),
    ];
    return parts.join("\n\n");
  }

  /**
   * Names that a method of these groups must not have: keywords, and names of the types in the
   * methods' declarations.
   */
  #reserved(groups: readonly GroupContract[]): string[] {
    const methods = groups.flatMap(({ endpoints }) => endpoints);
    const types = methods.flatMap(({ request, response }) => [this.#value(request), this.#value(response)]);
    return [...KEYWORDS, ...typesIn(["contextlib", "float", "int", "typing", ...types])];
  }

  #enumeration({ name, comment, values }: EnumContract): string {
    const names = enumNames(values);
    const members = values.map((value, at) => `    ${names[at]} = ${quoted(value)}\n`).join("");
    return `class ${this.#names.get(name)}(_OpenEnum):\n${doc(comment, false, "    ", true)}${members}`;
  }

  #message({ name, comment, deprecated, sent, received }: MessageContract): string {
    // All type names are reserved, whatever the other fields are: a new field must not rename
    // another one.
    const scope = new Scope([...KEYWORDS, ...TYPES]);
    const fields = (sent ?? received ?? []).map((field) => this.#field(scope.add(snake(field.name)), field));
    const body = [doc(comment, deprecated, "    "), ...fields].filter((text) => text !== "").join("\n");
    return `@dataclasses.dataclass\nclass ${this.#names.get(name)}:\n${body || "    pass\n"}`;
  }

  #field(name: string, field: FieldContract): string {
    const { hint, initial } = this.#typeOf(field);
    const settings = [
      `default${initial.endsWith("()") ? "_factory" : ""}=${initial.replace(/\(\)$/, "")}`,
      ...(name === field.name ? [] : [`metadata={"json": ${quoted(field.name)}}`]),
    ];
    const isPlain = settings.length === 1 && !initial.endsWith("()");
    const value = isPlain ? initial : `dataclasses.field(${settings.join(", ")})`;
    return `    ${name}: ${hint} = ${value}\n${doc(field.comment, field.deprecated, "    ")}`;
  }

  #typeOf({ type, optional, required }: FieldContract): { hint: string; initial: string } {
    if (type.many !== undefined) return { hint: this.#hint(type), initial: type.many === "list" ? "list()" : "dict()" };
    const hint = this.#value(type.value);
    const mayBeAbsent = optional || type.value.kind === "null" || (required && type.value.kind === "message");
    if (hint === "typing.Any" || hint === "None") return { hint, initial: "None" };
    return mayBeAbsent ? { hint: `${hint} | None`, initial: "None" } : { hint, initial: this.#zero(type.value) };
  }

  #hint({ many, key, value }: FieldType): string {
    const one = this.#value(value);
    if (many === "list") return `list[${one}]`;
    return many === "map" ? `dict[${KEYS[key]}, ${one}]` : one;
  }

  #value(type: ValueType): string {
    return type.kind === "message" || type.kind === "enum"
      ? (this.#names.get(type.name) ?? "typing.Any")
      : PLAIN[type.kind];
  }

  #zero(type: ValueType): string {
    if (type.kind !== "enum") return ZEROS[type.kind] ?? "None";
    const { values = [] } = this.#contract.enums.find(({ name }) => name === type.name) ?? {};
    return `${this.#names.get(type.name)}.${enumNames(values)[0]}`;
  }

  #services(form: Form): string[] {
    const groups = this.#groups.filter(({ member }) => member !== undefined);
    const main = this.#groups.find(({ member }) => member === undefined);
    const attributes = groups.map(
      ({ member, className }) => `        self.${member} = ${form.prefix}${className}(portico)\n`,
    );
    return [
      ...groups.map((group) => this.#service(form, group.className, group.group.comment, group, [])),
      this.#service(form, this.className, this.#contract.comment, main, attributes),
    ];
  }

  #service(
    form: Form,
    className: string,
    comment: string,
    group: Group | undefined,
    attributes: readonly string[],
  ): string {
    const methods = (group?.methods ?? []).map(([name, endpoint]) => this.#method(form, name, endpoint));
    return `class ${form.prefix}${className}:
${doc(comment, false, "    ", true)}    def __init__(self, portico: ${form.prefix}Portico) -> None:
        self._portico = portico
${attributes.join("")}${methods.map((method) => `\n${method}`).join("")}`;
  }

  #method(form: Form, name: string, endpoint: EndpointContract): string {
    const { path, idempotent, shape, request, response } = endpoint;
    const sent = endpoint.takesBytes ? "HttpBody" : this.#value(request);
    const received = endpoint.returnsBytes ? "HttpBody" : this.#value(response);
    const { define, parameter, result, run } = shapeOf(shape, form, sent, received);
    const mayBeLeftOut = parameter === undefined && request.kind === "message" && !endpoint.takesBytes;
    const given = parameter ?? [`request: ${sent}${mayBeLeftOut ? " | None = None" : ""}`];
    const parameters = ["self", ...given, "*", "timeout: float | None = None", "retries: int | None = None"];
    const message = parameter === undefined ? "request" : "None";
    const about = [quoted(this.#contract.name), quoted(path), idempotent ? "True" : "False", responseOf(received)];
    return `${fitted(`    ${define} ${name}`, parameters, ` -> ${result}:`, "    ")}
${doc(endpoint.comment, endpoint.deprecated, "        ")}${fitted("        call = _Call", [...about, message, "timeout", "retries"], "", "        ")}
        return ${run}
`;
  }
}

/** The names of types that occur in declarations. */
function typesIn(declarations: readonly string[]): string[] {
  const text = declarations.join(" ");
  return TYPES.filter((type) => new RegExp(`\\b${type}\\b`).test(text));
}

/** A type as an argument. A type checker does not accept `dict[str, typing.Any]` as a class. */
function responseOf(hint: string): string {
  return /^\w+$|^datetime\./.test(hint) ? hint : `typing.cast("type[${hint}]", ${hint})`;
}

/** Items in parentheses: on one line if they fit, as ruff formats them. */
function fitted(start: string, items: readonly string[], end: string, indent: string): string {
  const one = items.join(", ");
  const forms = [`${start}(${one})${end}`, `${start}(\n${indent}    ${one}\n${indent})${end}`];
  const fits = (form: string) => form.split("\n").every((line) => line.length <= MAX_LINE);
  return forms.find(fits) ?? `${start}(\n${items.map((item) => `${indent}    ${item},\n`).join("")}${indent})${end}`;
}

/** How the method of an endpoint is defined, and which function of the runtime it calls. */
function shapeOf(
  shape: EndpointContract["shape"],
  { prefix, define, wait, async }: Form,
  sent: string,
  received: string,
) {
  const iterable = prefix === "" ? [] : [`typing.AsyncIterable[${sent}]`];
  const requests = [...iterable, `typing.Iterable[${sent}]`].join(" | ");
  switch (shape) {
    case "unary":
      return { define, result: received, run: `${wait}self._portico._unary(call)` };
    case "server":
      return { define: "def", result: `typing.${prefix}Iterator[${received}]`, run: "self._portico._stream(call)" };
    case "client": {
      const run = `${wait}_collect${async}(self._portico, call, requests)`;
      return { define, parameter: [`requests: ${requests}`], result: received, run };
    }
    case "bidi": {
      const result = `contextlib.Abstract${prefix}ContextManager[${prefix}BidiStream[${sent}, ${received}]]`;
      return { define: "def", parameter: [], result, run: `_bidi${async}(self._portico, call)` };
    }
  }
}

const KEYS: Readonly<Record<FieldType["key"], string>> = { string: "str", bool: "bool", int: "int", uint: "int" };

const PLAIN: Readonly<Record<Exclude<ValueType["kind"], "message" | "enum">, string>> = {
  string: "str",
  bool: "bool",
  int: "int",
  float: "float",
  bytes: "bytes",
  null: "None",
  none: "None",
  timestamp: "datetime.datetime",
  duration: "datetime.timedelta",
  mask: "str",
  struct: "dict[str, typing.Any]",
  list: "list[typing.Any]",
  value: "typing.Any",
  any: "dict[str, typing.Any]",
};

const ZEROS: Readonly<Partial<Record<ValueType["kind"], string>>> = {
  string: '""',
  bool: "False",
  int: "0",
  float: "0.0",
  bytes: 'b""',
};

function enumNames(values: readonly string[]): string[] {
  const scope = new Scope([...KEYWORDS, "name", "value", "mro"]);
  return values.map((value) => scope.add(identifier(value)));
}

/** Removes underscores at both ends, because they have a special meaning in an enum. */
function identifier(text: string): string {
  return text
    .replace(/\W+/g, "_")
    .replace(/^_+|_+$/g, "")
    .replace(/^(?=\d|$)/, "VALUE_");
}

/**
 * A string literal. JSON's escapes are also Python's. It uses the quotes that need fewer escapes,
 * like ruff.
 */
function quoted(text: string): string {
  const escaped = JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  if (text.split('"').length <= text.split("'").length) return escaped;
  return `'${escaped.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** A docstring that no text can end early. */
function doc(comment: string, deprecated: boolean, indent: string, beforeCode = false): string {
  const lines = [...linesOf(comment), ...(deprecated ? ["Deprecated."] : [])];
  if (lines.length === 0) return "";
  const text = lines.map((line) => line.replaceAll("\\", "\\\\").replaceAll('"', '\\"'));
  const body =
    text.length === 1
      ? text[0]
      : `${text.map((line, at) => (at === 0 ? line : `${indent}${line}`.trimEnd())).join("\n")}\n${indent}`;
  return `${indent}"""${body}"""\n${beforeCode ? "\n" : ""}`;
}
