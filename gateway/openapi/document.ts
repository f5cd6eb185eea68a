/**
 * The OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.0) of a service: its endpoints and
 * messages with their comments, at the gateway's paths. It is made only from descriptors, so the
 * gateway serves the same document as the one in spec/.
 *
 * This room calls no service.
 */
import { commentOf, summaryOf } from "../../src/contract/comments.js";
import { type Endpoint, grpcServiceOf } from "../../src/contract/endpoint.js";
import { type Binding, bindingsOf } from "../../src/contract/http-rule.js";
import { described, Schemas, type SchemasOptions } from "../../src/json/schema/messages.js";
import type { JsonSchema } from "../../src/json/schema/scalars.js";
import type { JsonStyle } from "../../src/json/types.js";
import { atOnce, type Steps } from "../../src/overload/pace.js";
import type { ServiceStatuses } from "../catalog/service-statuses.js";
import { BoundPaths } from "./bound-paths.js";
import { ERROR, ERROR_SCHEMA, HEADERS, PARAMETERS, RESPONSES } from "./components.js";
import { GRPC_GATEWAY_SCHEMAS, withEnvelopes } from "./grpc-gateway.js";
import { pathItems, REST_TAG, UNVERSIONED_TAG } from "./operations.js";
import { withStatuses } from "./statuses.js";

export interface DocumentOptions extends SchemasOptions {
  /** The service's name, `helloworld`. */
  readonly service: string;
  /** The endpoints to document: at least one, and none that only enrolled callers may call. */
  readonly endpoints: readonly Endpoint[];
  /**
   * The paths of an endpoint by `google.api.http` annotations. Default: the paths that its contract
   * declares.
   */
  readonly bindings?: ((endpoint: Endpoint) => readonly Binding[]) | undefined;
  /** Whether the annotated paths are for clients of grpc-gateway. */
  readonly isGrpcGateway?: boolean;
  /** The HTTP statuses that the options of the service set; default none. */
  readonly statuses?: ServiceStatuses | undefined;
  /** The gateway's address; `/` means the address from which the document was read. */
  readonly server: string;
}

/** The document as JSON; `space` indents it. */
export function openApi(options: DocumentOptions, space?: number): string {
  return exact(JSON.stringify(atOnce(documentSteps(options)).document, null, space));
}

/**
 * The document as JSON without indentation, made in steps. Each step makes a path, a field or an
 * enum value.
 */
export function* openApiSteps(options: DocumentOptions): Steps<string> {
  const { document, pathsText } = yield* documentSteps(options);
  const { paths: _, components, ...rest } = document;
  const { schemas, ...others } = components;
  const members = [
    ...Object.entries(rest).map(([name, value]) => member(name, JSON.stringify(value))),
    member("paths", pathsText),
    member("components", `{${member("schemas", yield* objectSteps(schemas, 3))},${JSON.stringify(others).slice(1)}`),
  ];
  return `{${members.join(",")}}`;
}

function member(name: string, text: string): string {
  return `${JSON.stringify(name)}:${text}`;
}

/**
 * The text of an object, with one step per member.
 * @param levels how many levels of nested objects also have one step per member
 */
function* objectSteps(object: JsonSchema, levels = 1): Steps<string> {
  const members: string[] = [];
  for (const [name, value] of Object.entries(object)) {
    const isParent = levels > 1 && typeof value === "object" && value !== null && !Array.isArray(value);
    if (isParent) members.push(member(name, yield* objectSteps(value as JsonSchema, levels - 1)));
    else members.push(exact(member(name, JSON.stringify(value))));
    yield;
  }
  return `{${members.join(",")}}`;
}

interface Document {
  readonly openapi: string;
  readonly info: JsonSchema;
  readonly servers: readonly JsonSchema[];
  readonly tags: readonly JsonSchema[];
  readonly paths: JsonSchema;
  readonly components: { readonly schemas: JsonSchema } & JsonSchema;
}

/**
 * The document, and its paths as text. The components that the text names are part of the document.
 */
function* documentSteps(options: DocumentOptions): Steps<{ document: Document; pathsText: string }> {
  const { service, endpoints, server, bindings = ({ method }) => bindingsOf(method).bindings } = options;
  const ordered = mainFirst(service, endpoints);
  const schemas = new Schemas(options);
  const own: [path: string, item: JsonSchema][] = [];
  for (const endpoint of ordered) {
    own.push(...pathItems(endpoint, schemas));
    yield;
  }
  const bound = new BoundPaths(schemas);
  for (const endpoint of ordered) {
    for (const binding of bindings(endpoint)) {
      bound.add(endpoint, binding);
      yield;
    }
  }
  const annotated = options.isGrpcGateway ? withEnvelopes(bound.items()) : bound.items();
  const paths = Object.fromEntries(withStatuses([...own, ...annotated], ordered, options.statuses));
  const pathsText = yield* objectSteps(paths);
  const document = {
    openapi: "3.1.0",
    info: {
      title: service,
      version: versionOf(ordered),
      ...described(commentOfService(ordered), aboutFields(schemas.style)),
    },
    servers: [{ url: server }],
    tags: [...tagsOf(ordered), ...COMMON_TAGS.filter(({ name }) => pathsText.includes(`"tags":["${name}"]`))],
    paths,
    components: {
      schemas: {
        [ERROR]: ERROR_SCHEMA,
        ...(options.isGrpcGateway && GRPC_GATEWAY_SCHEMAS),
        ...(yield* schemas.components()),
      },
      responses: used("responses", RESPONSES, pathsText),
      parameters: used("parameters", PARAMETERS, pathsText),
      headers: HEADERS,
      securitySchemes: { bearer: BEARER },
    },
  };
  return { document, pathsText };
}

/** The components that the paths refer to. */
function used(
  kind: string,
  components: Readonly<Record<string, JsonSchema>>,
  referred: string,
): Record<string, JsonSchema> {
  const entries = Object.entries(components);
  return Object.fromEntries(entries.filter(([name]) => referred.includes(`"#/components/${kind}/${name}"`)));
}

/** The summary of a service in a list of services. */
export function summaryOfService(service: string, endpoints: readonly Endpoint[]): string {
  return summaryOf(commentOfService(mainFirst(service, endpoints)));
}

function aboutFields({ protoNames, ignoreUnknown }: JsonStyle): string {
  const [names, others] = ["in lowerCamelCase", "the names of the .proto file"];
  const [written, read] = protoNames ? ["as in the .proto file", "names in lowerCamelCase"] : [names, others];
  const unknown = ignoreUnknown ? " Unknown fields, parameters and names of enum values are passed over." : "";
  return `Fields are named ${written}. In requests ${read}, and fields that are null, are taken too.${unknown}`;
}

const BEARER: JsonSchema = {
  type: "http",
  scheme: "bearer",
  description: "An access token or an API key. Paths below `/v1` always need a valid one; elsewhere the rules decide.",
};

/**
 * Sorts endpoints: first the gRPC service that is named like the service, then the others by gRPC
 * service.
 */
function mainFirst(service: string, endpoints: readonly Endpoint[]): Endpoint[] {
  const rank = (endpoint: Endpoint) => {
    const grpcService = grpcServiceOf(endpoint);
    return grpcService.toLowerCase() === service ? "" : grpcService;
  };
  return [...endpoints].sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}

function commentOfService([first]: readonly Endpoint[]): string {
  return first === undefined ? "" : commentOf(first.method.parent, first.method.parent.file);
}

/** The version in a package such as portico.auth.v1; `v1` for a package without one. */
function versionOf([first]: readonly Endpoint[]): string {
  return /(?:^|\.)(v\d+[a-z0-9]*)$/.exec(first?.method.parent.file.proto.package ?? "")?.[1] ?? "v1";
}

/** The tags of the operations at the other paths of the endpoints, after all gRPC services. */
const COMMON_TAGS = [
  { name: REST_TAG, description: "The same endpoints at the paths of the annotations `google.api.http`." },
  {
    name: UNVERSIONED_TAG,
    description: "The same endpoints at paths without `/v1`, where a rule may grant calls without a token.",
  },
];

function tagsOf(endpoints: readonly Endpoint[]): JsonSchema[] {
  const parents = new Map(endpoints.map((endpoint) => [grpcServiceOf(endpoint), endpoint.method.parent]));
  return Array.from(parents, ([name, parent]) => ({
    name,
    description: commentOf(parent, parent.file) || `The gRPC service ${parent.typeName}.`,
  }));
}

/**
 * Writes 2^63 and 2^64 with all digits. JavaScript writes zeros instead of the last digits, so a
 * parser with 64-bit integers would read other numbers.
 */
function exact(json: string): string {
  return json.replace(/("(?:minimum|exclusiveMaximum)": ?)(-?\d{19,20})\b/g, (_, name: string, bound: string) => {
    return `${name}${BigInt(Number(bound))}`;
  });
}
