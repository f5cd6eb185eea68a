/**
 * The options of a service that joins without Portico's code, in one table. Each is a flag of
 * `portico services add` and a member of the service's entry in the configuration file. A wrong
 * value is refused with a message that names the option and says what is accepted.
 */
import { isMetadataNames, METADATA_NAMES, mayPass } from "../contract/metadata-names.js";
import { BINDING_PREFIX } from "../contract/names.js";
import {
  JsonNames,
  RestStyle,
  ServiceOptions,
  type StatusRange,
  type Tls,
} from "../gen/portico/registry/v1/service_options.js";
import { durationMs, toDuration } from "../time.js";
import { SECRET_FILE_NAME } from "./secret-files.js";
import { boolean, bytes, duration, integer, oneOf, type Parse, type Values } from "./setting-values.js";

/** One option. */
export interface ServiceOption {
  /**
   * What the value is called in the help, such as `name`; undefined for an option that is on or
   * off.
   */
  readonly value: string | undefined;
  readonly meaning: string;
  /** Whether it may be given several times, and is a list in the file. */
  readonly list?: true;
  /** The values that a shell completes. */
  readonly values?: Values | undefined;
  /**
   * Changes the options by the texts that were given; no text resets the option.
   * @throws {SyntaxError} with what is accepted
   */
  readonly set: (options: ServiceOptions, texts: readonly string[]) => void;
  /** The texts that `set` would get for the options as they are; none where it is not set. */
  readonly get: (options: ServiceOptions) => readonly string[];
}

/** The longest time of a call that an administrator may set for one service, in seconds. */
const MAX_CALL_TIME = 3_600;
const MIB = 1024 ** 2;
/** The largest message that a service may have. Calls in JSON have a lower limit. */
const MAX_MESSAGE = 64 * MIB;
const MAX_CONCURRENT = 100_000;
/** The maximum size of a service configuration, in bytes. */
export const MAX_HTTP_RULES = 256 * 1024;
/** The maximum length of the name of a file in the folder of credentials. */
const MAX_FILE_NAME = 128;
const HOST = /^[A-Za-z0-9.-]{1,253}$/;
const STATUS = /^(\d{1,10})(?:-(\d{1,10}))?=([2-5]\d\d)$/;
const MAX_STATUSES = 64;
const MAX_CODE = 2 ** 31 - 1;

/**
 * All options. For `callTime` the flag is `--call-time`, and the member of the entry in the file is
 * `callTime`.
 */
export const SERVICE_OPTIONS = {
  identity: flag("identity", "tell it the account and the namespace of each caller"),
  assertion: flag("assertion", "send it the signed assertion of each caller; over TLS or loopback only"),
  metadata: {
    value: "name",
    meaning: "let a header pass between callers and it; again for more",
    list: true,
    set: (options, texts) => {
      if (!isMetadataNames(texts)) throw new SyntaxError(METADATA_NAMES.replace("metadata ", ""));
      options.metadata = [...texts];
    },
    get: ({ metadata }) => metadata,
  },
  prefix: text(
    "path",
    "put a path before the paths of its google.api.http annotations, such as /api",
    (value) => {
      if (BINDING_PREFIX.test(value)) return value;
      throw new SyntaxError("must be a path such as /api: it begins with / and does not end with it");
    },
    { get: ({ bindingPrefix }) => bindingPrefix, set: (options, value = "") => (options.bindingPrefix = value) },
  ),
  credential: text("name", "show it the content of this file in PORTICO_CREDENTIALS", fileName, {
    get: ({ credential }) => credential?.name,
    set: (options, name = "") => (options.credential = orNone({ header: "", ...options.credential, name })),
  }),
  credentialHeader: text("name", "the metadata for the credential; default authorization, after Bearer", metadataName, {
    get: ({ credential }) => credential?.header,
    set: (options, header = "") => (options.credential = orNone({ name: "", ...options.credential, header })),
  }),
  ca: tlsFile("ca", "trust only certificates of the authorities in this file in PORTICO_CREDENTIALS"),
  cert: tlsFile("cert", "show it the certificate in this file in PORTICO_CREDENTIALS"),
  key: tlsFile("key", "the file in PORTICO_CREDENTIALS with the key of the certificate"),
  serverName: text("host", "the name in its certificate, if it is not the host of the target", hostName, {
    get: ({ tls }) => tls?.serverName,
    set: (options, serverName = "") => setTls(options, { serverName }),
  }),
  callTime: text("time", "how long a call may take", duration(0.001, MAX_CALL_TIME), {
    get: ({ callTime }) => callTime && `${durationMs(callTime) / 1000}s`,
    set: (options, ms) => (options.callTime = ms === undefined ? undefined : toDuration(ms)),
  }),
  maxMessage: text("size", "the largest message, in both directions; JSON at most 16 MiB", bytes(1, MAX_MESSAGE), {
    get: ({ maxMessage }) => orUndefined(maxMessage),
    set: (options, size = 0) => (options.maxMessage = size),
  }),
  maxConcurrent: text("number", "how many calls a gateway makes to it at once", integer(1, MAX_CONCURRENT), {
    get: ({ maxConcurrent }) => orUndefined(maxConcurrent),
    set: (options, calls = 0) => (options.maxConcurrent = calls),
  }),
  names: text("form", "names of fields in JSON: json, or proto as in the .proto file", oneOf("json", "proto"), {
    get: ({ jsonNames }) => (jsonNames === JsonNames.PROTO ? "proto" : undefined),
    set: (options, form) => (options.jsonNames = form === "proto" ? JsonNames.PROTO : JsonNames.JSON_NAMES_UNSPECIFIED),
  }),
  omitZeros: flag("omitZeros", "leave zeros and empty values out of its responses"),
  unknown: text("treatment", "unknown fields of requests: refuse, or ignore", oneOf("refuse", "ignore"), {
    get: ({ ignoreUnknown }) => (ignoreUnknown ? "ignore" : undefined),
    set: (options, treatment) => (options.ignoreUnknown = treatment === "ignore"),
  }),
  rest: text("style", "for REST clients of another gateway: grpc-gateway", oneOf("portico", "grpc-gateway"), {
    get: ({ rest }) => (rest === RestStyle.GRPC_GATEWAY ? "grpc-gateway" : undefined),
    set: (options, style) =>
      (options.rest = style === "grpc-gateway" ? RestStyle.GRPC_GATEWAY : RestStyle.REST_STYLE_UNSPECIFIED),
  }),
  status: {
    value: "codes=status",
    meaning: "HTTP status of gRPC codes, such as 12=404 or 2000-2999=400; again for more",
    list: true,
    set: (options, texts) => {
      if (texts.length > MAX_STATUSES) throw new SyntaxError(`must be at most ${MAX_STATUSES}`);
      options.statuses = texts.map(statusRange);
    },
    get: ({ statuses }) =>
      statuses.map(({ first, last, status }) => `${first}${last === first ? "" : `-${last}`}=${status}`),
  },
  statusMetadata: text("name", "metadata in which it sets the HTTP status itself, such as x-http-code", metadataName, {
    get: ({ statusMetadata }) => statusMetadata,
    set: (options, name = "") => (options.statusMetadata = name),
  }),
  showUnknown: flag("showUnknown", "show callers the message and the details of its code UNKNOWN"),
  httpRules: text("file", "service configuration in YAML with its HTTP rules", httpRules, {
    get: ({ httpRules }) => httpRules,
    set: (options, rules = "") => (options.httpRules = rules),
    values: "file",
  }),
} as const satisfies Record<string, ServiceOption>;

/** An option that has one text. */
function text<T>(
  value: string,
  meaning: string,
  parse: Parse<T>,
  {
    get,
    set,
    values = parse.values,
  }: {
    get: (options: ServiceOptions) => string | undefined;
    /** @param value undefined resets the option */
    set: (options: ServiceOptions, value: T | undefined) => void;
    values?: Values | undefined;
  },
): ServiceOption {
  return {
    value,
    meaning,
    values,
    set: (options, texts) => {
      if (texts.length > 1) throw new SyntaxError("must be given once");
      set(options, texts[0] === undefined ? undefined : parse(texts[0]));
    },
    get: (options) => [get(options) ?? ""].filter((shown) => shown !== ""),
  };
}

/** An option that is on or off. */
function flag(key: "identity" | "assertion" | "omitZeros" | "showUnknown", meaning: string): ServiceOption {
  return {
    value: undefined,
    meaning,
    set: (options, [value = "false"]) => {
      options[key] = boolean(value);
    },
    get: (options) => (options[key] ? ["true"] : []),
  };
}

function tlsFile(key: "ca" | "cert" | "key", meaning: string): ServiceOption {
  return text("name", meaning, fileName, {
    get: ({ tls }) => tls?.[key],
    set: (options, name = "") => setTls(options, { [key]: name }),
  });
}

function setTls(options: ServiceOptions, change: Partial<Tls>): void {
  options.tls = orNone({ ca: "", cert: "", key: "", serverName: "", ...options.tls, ...change });
}

/** Undefined if all texts are empty. */
function orNone<T extends object>(value: T): T | undefined {
  return Object.values(value).some((each) => typeof each === "string" && each !== "") ? value : undefined;
}

function orUndefined(value: number): string | undefined {
  return value === 0 ? undefined : String(value);
}

function fileName(value: string): string {
  if (value.length <= MAX_FILE_NAME && SECRET_FILE_NAME.test(value)) return value;
  throw new SyntaxError("must be the name of a file, without a folder, of letters, digits, ., _ and -");
}

function hostName(value: string): string {
  if (HOST.test(value)) return value;
  throw new SyntaxError("must be a host name such as shop.example");
}

function metadataName(value: string): string {
  if (value === "authorization" || mayPass(value)) return value;
  throw new SyntaxError("must be a name of metadata in lower case, such as x-api-key, that belongs to nobody else");
}

function httpRules(content: string): string {
  if (Buffer.byteLength(content) <= MAX_HTTP_RULES) return content;
  throw new SyntaxError(`must be at most ${MAX_HTTP_RULES / 1024} KiB`);
}

function statusRange(value: string): StatusRange {
  const [, from, to = from, status] = STATUS.exec(value) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (first <= last && last <= MAX_CODE) return { first, last, status: Number(status) };
  throw new SyntaxError(
    `must be codes and an HTTP status, such as 12=404 or 2000-2999=400 (not ${JSON.stringify(value)})`,
  );
}

/**
 * Checks what concerns several options.
 * @throws {SyntaxError} for the person who sets them
 */
export function checkServiceOptions({ credential, tls }: ServiceOptions): void {
  if (credential !== undefined && credential.name === "")
    throw new SyntaxError("credentialHeader is set without credential");
  if (tls !== undefined && (tls.cert === "") !== (tls.key === ""))
    throw new SyntaxError("cert and key belong together: one is set without the other");
}

/** The options of a service that sets none. */
export function noServiceOptions(): ServiceOptions {
  return ServiceOptions.fromPartial({});
}
