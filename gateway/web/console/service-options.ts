/** The options of an added service: which the form offers, and how the table writes them. */
import type { ServiceOptions } from "../../../src/api/types.js";

type Key = keyof ServiceOptions;

/** An option that the form offers as a choice between words. */
export interface Choice {
  readonly key: Key;
  readonly label: string;
  readonly options: readonly (readonly [value: string, title: string])[];
}

/** An option that the form offers as a text. */
export interface TextOption {
  readonly label: string;
  readonly hint: string;
  readonly get: (options: Options) => string;
  /** Undefined resets the option. */
  readonly set: (text: string) => Options;
}

/** Options as they are sent: what is absent is not set. */
export type Options = { readonly [K in Key]?: ServiceOptions[K] | undefined };

export const CHOICES: readonly Choice[] = [
  {
    key: "jsonNames",
    label: "Names of fields",
    options: [
      ["JSON_NAMES_UNSPECIFIED", "lowerCamelCase, as usual in JSON"],
      ["PROTO", "as in the .proto file"],
    ],
  },
  {
    key: "rest",
    label: "REST clients",
    options: [
      ["REST_STYLE_UNSPECIFIED", "of Portico"],
      ["GRPC_GATEWAY", "of grpc-gateway"],
    ],
  },
];

/** Options that are on or off. */
export const SWITCHES: readonly (readonly [key: Key, label: string])[] = [
  ["omitZeros", "Leave zeros and empty values out of responses"],
  ["ignoreUnknown", "Ignore unknown fields of requests"],
  ["showUnknown", "Show callers the messages of the code UNKNOWN"],
  ["identity", "Tell it the account and the namespace of each caller"],
];

export const TEXTS: readonly TextOption[] = [
  {
    label: "Credential",
    hint: "The name of a file in the folder PORTICO_CREDENTIALS of each gateway. The service is shown its content.",
    get: ({ credential }) => credential?.name ?? "",
    set: (name) => ({ credential: name === "" ? undefined : { name, header: "" } }),
  },
  {
    label: "Prefix of REST paths",
    hint: "Such as /api.",
    get: ({ bindingPrefix = "" }) => bindingPrefix,
    set: (bindingPrefix) => ({ bindingPrefix }),
  },
  {
    label: "Time of a call",
    hint: "In seconds, such as 30.",
    get: ({ callTime = "" }) => callTime.replace(/s$/, ""),
    set: (seconds) => ({ callTime: seconds === "" ? undefined : `${seconds}s` }),
  },
];

/** The options that are set, one text for each. */
export function optionTexts(options: ServiceOptions | undefined): string[] {
  if (options === undefined) return [];
  return Object.entries(options).flatMap(([key, value]) => {
    const text = textOf(value);
    return text === "" ? [] : [`${key}: ${key === "httpRules" ? "a service configuration" : text}`];
  });
}

/** Empty for a value that means that the option is not set. */
function textOf(value: unknown): string {
  if (value === false || value === 0 || value === undefined) return "";
  if (value === true) return "on";
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  if (typeof value === "object")
    return Object.values(value as object)
      .map(textOf)
      .filter(Boolean)
      .join(" ");
  const text = String(value);
  return text.endsWith("_UNSPECIFIED") ? "" : text;
}
