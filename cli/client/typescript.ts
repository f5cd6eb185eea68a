/**
 * Writes the types of a service and the table of its endpoints in TypeScript. Messages are plain
 * objects in canonical JSON.
 */
import type {
  EndpointContract,
  EnumContract,
  FieldContract,
  GroupContract,
  MessageContract,
  ServiceContract,
} from "./contract.js";
import { camel, inWords, linesOf, pascal, Scope, sharedNames, typeNames } from "./names.js";
import type { FieldType, ValueType } from "./value-type.js";

/**
 * Type names of the runtime (src/client/), and of the language if the runtime or generated code
 * uses them.
 */
export const RESERVED_TYPES: readonly string[] = [
  ..."AnyMessage Bytes BytesInput CallOptions CallScope Duration EndpointEntry EndpointTable ErrorCircumstances ErrorObject".split(
    " ",
  ),
  ..."FieldMask Float FloatInput Given Handshake HttpBody HttpBodyInput Int64 Int64Input Int64Table JsonObject JsonValue Messages NodeCrypto NodeHttp NodeRequest NodeResponse NodeSocket NodeSocketOptions NodeWebSocket".split(
    " ",
  ),
  ..."Portico PorticoClient PorticoError PorticoOptions Reader Socket Timestamp TimestampInput TokenFunction TokenSource WebSocketClass WebSocketLike".split(
    " ",
  ),
  ..."AbortSignal AsyncGenerator AsyncIterable Blob Date Iterable Partial Promise PromiseLike ReadableStreamDefaultReader".split(
    " ",
  ),
  ..."Readonly Record Response ReturnType URL Uint8Array".split(" "),
  // These names would be legal for a type, but misleading.
  ..."Array Boolean Error Function JSON Map Math Number Object Set String Symbol".split(" "),
];

/** Names that a method must not have, because objects or promises have members with these names. */
const RESERVED_MEMBERS: readonly string[] =
  "__proto__ constructor hasOwnProperty isPrototypeOf propertyIsEnumerable prototype then toJSON toLocaleString toString valueOf".split(
    " ",
  );

/** What a generated module exports in addition to its types. */
export interface ServiceModule {
  readonly text: string;
  /** The interface of the service's methods. */
  readonly interfaceName: string;
  /** The constant with the table of its endpoints. */
  readonly tableName: string;
}

/** @param scope the names of the file; `shared` as for `typeNames` */
export function writeModule(
  contract: ServiceContract,
  scope = new Scope(RESERVED_TYPES),
  shared: ReadonlySet<string> = new Set(),
): ServiceModule {
  const interfaceName = scope.add(pascal(contract.name));
  const tableName = `${camel(contract.name)}Endpoints`;
  const writer = new TypeWriter(contract, scope, shared);
  const parts = [
    ...contract.messages.flatMap((message) => writer.message(message)),
    ...contract.enums.map((one) => writer.enumeration(one)),
    writer.service(interfaceName),
    ...writer.integers(),
    `export const ${tableName}: EndpointTable = ${writer.endpoints()};\n`,
  ];
  return { text: parts.join("\n"), interfaceName, tableName };
}

/** The class that has the services as members. */
export function classOf(comment: string, services: readonly (readonly [ServiceContract, ServiceModule])[]): string {
  const members = services.map(([contract, { interfaceName, tableName }]) => {
    const value = `this.bind(${quoted(contract.name)}, ${tableName})`;
    return `${doc(contract.comment, false, "  ")}  readonly ${camel(contract.name)}: ${interfaceName} = ${value};\n`;
  });
  return `/** ${comment} */\nexport class Portico extends PorticoClient {\n${members.join("")}}\n`;
}

/** Everything that follows the runtime in the file of a client. */
export function writeTypescript(...contracts: readonly ServiceContract[]): string {
  const [scope, shared] = [new Scope(RESERVED_TYPES), sharedNames(contracts)];
  const services = contracts.map((contract) => [contract, writeModule(contract, scope, shared)] as const);
  const client = classOf(`A client of Portico with ${inWords(contracts)}.`, services);
  return [...services.map(([, { text }]) => text), client].join("\n");
}

class TypeWriter {
  readonly #contract: ServiceContract;
  readonly #names: ReadonlyMap<string, string>;
  /** For each message that is in requests and responses: the name of its type in requests. */
  readonly #inputNames: ReadonlyMap<string, string>;
  readonly #integers: Integers;
  /** The constant with the table of the 64-bit integers. */
  readonly #integersName: string;

  constructor(contract: ServiceContract, scope: Scope, shared: ReadonlySet<string>) {
    this.#contract = contract;
    this.#names = typeNames(contract, scope, shared);
    const both = contract.messages.filter(({ sent, received }) => sent !== undefined && received !== undefined);
    this.#inputNames = new Map(both.map(({ name }) => [name, scope.add(`${this.#names.get(name)}Input`)]));
    this.#integers = integersOf(contract);
    this.#integersName = `${camel(contract.name)}Int64`;
  }

  message({ name, comment, deprecated, sent, received }: MessageContract): string[] {
    const written: string[] = [];
    const write = (own: string | undefined, fields: readonly FieldContract[], toSend: boolean) => {
      const members = fields.map((field) => this.#field(field, toSend)).join("");
      const type =
        members === "" ? `type ${own} = Readonly<Record<string, never>>;` : `interface ${own} {\n${members}}`;
      written.push(`${doc(comment, deprecated)}export ${type}\n`);
    };
    if (received !== undefined) write(this.#names.get(name), received, false);
    if (sent !== undefined) write(this.#inputNames.get(name) ?? this.#names.get(name), sent, true);
    return written;
  }

  enumeration({ name, comment, deprecated, values }: EnumContract): string {
    const names = [...values.map(quoted), "number"].join(" | ");
    const words = [comment, "A value that this contract does not name is a number."].filter((text) => text !== "");
    return `${doc(words.join("\n\n"), deprecated)}export type ${this.#names.get(name)} = ${names};\n`;
  }

  service(name: string): string {
    const groups = membersOf(this.#contract).map(({ name, group, endpoints }) => {
      const indent = name === undefined ? "  " : "    ";
      const methods = endpoints.map(([member, endpoint]) => this.#method(member, endpoint, indent)).join("");
      if (name === undefined) return methods;
      return `${doc(group.comment, false, "  ")}  readonly ${name}: {\n${methods}  };\n`;
    });
    return `${doc(this.#contract.comment, false)}export interface ${name} {\n${groups.join("")}}\n`;
  }

  /** Where the 64-bit integers of responses are. Nothing for a service that has none. */
  integers(): string[] {
    if (this.#integers.size === 0) return [];
    const rows = Array.from(this.#integers, ([name, fields]) => {
      const pairs = fields.map(({ name, type: { many, value } }) => {
        const type = this.#int64Type(value);
        return `[${quoted(name)}, ${quoted(many === "map" ? `{${type}}` : `${type}`)}]`;
      });
      return `  ${this.#names.get(name)}: [${pairs.join(", ")}],\n`;
    });
    return [`const ${this.#integersName}: Int64Table = {\n${rows.join("")}};\n`];
  }

  /** The name of a type in the table of the 64-bit integers, or undefined if it has none. */
  #int64Type(type: ValueType): string | undefined {
    if (isInt64(type)) return "Int64";
    return type.kind === "message" && this.#integers.has(type.name) ? this.#names.get(type.name) : undefined;
  }

  endpoints(): string {
    const groups = membersOf(this.#contract).map(({ name, endpoints }) => {
      const indent = name === undefined ? "  " : "    ";
      const rows = endpoints.map(([member, endpoint]) => `${indent}${member}: ${this.#entry(endpoint)},\n`).join("");
      return name === undefined ? rows : `  ${name}: {\n${rows}  },\n`;
    });
    return `{\n${groups.join("")}}`;
  }

  #entry({ path, shape, idempotent, takesBytes, returnsBytes, response }: EndpointContract): string {
    const flags = Object.entries({ idempotent, takesBytes, answersBytes: returnsBytes }).filter(([, is]) => is);
    const members = [`path: ${quoted(path)}`, `shape: ${quoted(shape)}`, ...flags.map(([name]) => `${name}: true`)];
    const type = this.#int64Type(response);
    const int64 = type === undefined ? [] : [`int64: [${quoted(type)}, ${this.#integersName}]`];
    return `{ ${[...members, ...int64].join(", ")} }`;
  }

  #method(name: string, endpoint: EndpointContract, indent: string): string {
    const { shape } = endpoint;
    const sent = endpoint.takesBytes ? "HttpBodyInput" : this.#value(endpoint.request, true);
    const received = endpoint.returnsBytes ? "HttpBody" : this.#value(endpoint.response, false);
    const parameter =
      shape === "client" || shape === "bidi"
        ? `requests: Messages<${sent}>`
        : `request${this.#mayBeLeftOut(endpoint) ? "?" : ""}: ${sent}`;
    const result = shape === "unary" || shape === "client" ? `Promise<${received}>` : `AsyncGenerator<${received}>`;
    const words = doc(endpoint.comment, endpoint.deprecated, indent);
    return `${words}${indent}${name}(${parameter}, options?: CallOptions): ${result};\n`;
  }

  #mayBeLeftOut({ request, takesBytes }: EndpointContract): boolean {
    if (takesBytes || request.kind !== "message") return false;
    const message = this.#contract.messages.find(({ name }) => name === request.name);
    return message?.sent?.every(({ required }) => !required) === true;
  }

  #field({ name, type, required, comment, deprecated }: FieldContract, toSend: boolean): string {
    const optional = required ? "" : "?";
    // A caller may give undefined for a field that is not set, also under
    // exactOptionalPropertyTypes.
    const absent = required || !toSend ? "" : " | undefined";
    const words = doc(comment, deprecated, "  ");
    return `${words}  readonly ${propertyName(name)}${optional}: ${this.#fieldType(type, toSend)}${absent};\n`;
  }

  #fieldType({ many, value }: FieldType, toSend: boolean): string {
    const one = this.#value(value, toSend);
    if (many === "list") return `readonly ${/^\w+$/.test(one) ? one : `(${one})`}[]`;
    return many === "map" ? `{ readonly [key: string]: ${one} }` : one;
  }

  #value(type: ValueType, toSend: boolean): string {
    const form = (name: string) => (toSend ? `${name}Input` : name);
    switch (type.kind) {
      case "message":
        return (toSend ? this.#inputNames.get(type.name) : undefined) ?? this.#names.get(type.name) ?? "unknown";
      case "enum":
        return this.#names.get(type.name) ?? "unknown";
      case "int":
        if (type.bits === 64) return form("Int64");
        return toSend ? "number | string" : "number";
      case "float":
        return form("Float");
      case "bytes":
        return form("Bytes");
      case "timestamp":
        return form("Timestamp");
      default:
        return PLAIN[type.kind];
    }
  }
}

const PLAIN: Readonly<
  Record<Exclude<ValueType["kind"], "message" | "enum" | "int" | "float" | "bytes" | "timestamp">, string>
> = {
  string: "string",
  bool: "boolean",
  null: "null",
  none: "undefined",
  duration: "Duration",
  mask: "FieldMask",
  struct: "JsonObject",
  list: "readonly JsonValue[]",
  value: "JsonValue",
  any: "AnyMessage",
};

/** The groups of a service and their endpoints, under their names as members. */
function membersOf({ groups }: ServiceContract) {
  const service = new Scope(RESERVED_MEMBERS);
  return groups.map((group) => {
    const name = group.name === undefined ? undefined : service.add(camel(group.name));
    const scope = name === undefined ? service : new Scope(RESERVED_MEMBERS);
    return { name, group, endpoints: endpointsOf(group, scope) };
  });
}

function endpointsOf({ endpoints }: GroupContract, scope: Scope): [string, EndpointContract][] {
  return endpoints.map((endpoint) => [scope.add(camel(endpoint.name)), endpoint]);
}

/** The fields of responses that lead to 64-bit integers, by the messages that have some. */
type Integers = ReadonlyMap<string, readonly FieldContract[]>;

function integersOf({ messages }: ServiceContract): Integers {
  const names = new Set<string>();
  const leads = ({ type: { value } }: FieldContract) =>
    isInt64(value) || (value.kind === "message" && names.has(value.name));
  // Messages may contain each other, so this repeats until it finds no more.
  for (let before = -1; before < names.size; ) {
    before = names.size;
    for (const { name, received } of messages) if (received?.some(leads)) names.add(name);
  }
  const found = messages.filter(({ name }) => names.has(name));
  return new Map(found.map(({ name, received = [] }) => [name, received.filter(leads)]));
}

function isInt64(type: ValueType): boolean {
  return type.kind === "int" && type.bits === 64;
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name);
}

function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A comment that no text can end early. */
export function doc(comment: string, deprecated: boolean, indent = ""): string {
  const lines = [...linesOf(comment), ...(deprecated ? ["@deprecated"] : [])].map((line) =>
    line.replaceAll("*/", "*\\/"),
  );
  if (lines.length === 0) return "";
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}
