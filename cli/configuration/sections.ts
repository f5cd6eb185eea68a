/**
 * The sections of a configuration file and their fields, in one table: files are written and read
 * by it, and the schema for editors is made from it.
 */
import type { ConfiguredService, Limit } from "../../src/api/types.js";
import { noServiceOptions, SERVICE_OPTIONS, type ServiceOption } from "../../src/config/service-options.js";
import { usualBurst } from "../../src/limits/rate.js";
import { formatTarget, parseTarget } from "../services/flags.js";
import { jsonOfOptions, optionsOfJson } from "../services/options-json.js";

type SectionName = "rules" | "limits" | "accounts" | "services" | "issuers" | "trusts";

/** `word`: one of a few, in lower case. `scalar`: a text or a number. */
type FieldKind = "text" | "number" | "boolean" | "list" | "word" | "scalar";
export type FieldValue = string | number | boolean | readonly string[];
/** An item as the file has it. */
export type FileItem = Readonly<Record<string, FieldValue>>;
/** An item as the API has it. */
export type ApiItem = Readonly<Record<string, unknown>>;

export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly meaning: string;
  readonly words?: readonly string[];
  readonly required?: true;
  /** A value that files leave out. */
  readonly usual?: FieldValue | ((item: ApiItem) => unknown);
}

export interface FileSection {
  readonly name: SectionName;
  /** What one item is called. */
  readonly noun: string;
  /** The field that names an item. */
  readonly key: "id" | "name";
  /** A comment in the file. */
  readonly about: string;
  readonly fields: readonly Field[];
  readonly toEntry: (item: ApiItem) => FileItem;
  /**
   * @param inField runs what reads a field; an error of it is reported at the field
   */
  readonly toItem: (entry: FileItem, inField: InField) => ApiItem;
}

export type InField = <T>(field: string, read: () => T) => T | undefined;

const scope = (usual?: string): Field => ({
  name: "scope",
  kind: "text",
  meaning: "whose calls: <public> for everyone, * for anyone logged in, or a scope that accounts hold",
  ...(usual === undefined ? { required: true } : { usual }),
});
const resource = (usual?: string): Field => ({
  name: "resource",
  kind: "text",
  meaning: "which calls: type:name:endpoint, each a word, word*, or *",
  ...(usual === undefined ? { required: true } : { usual }),
});
const text = (name: string, meaning: string): Field => ({ name, kind: "text", meaning, required: true });

const RULE_FIELDS: readonly Field[] = [
  text("id", "unique among the rules"),
  { name: "access", kind: "word", words: ["granted", "denied"], meaning: "what the rule decides", required: true },
  scope(),
  resource(),
  { name: "priority", kind: "number", meaning: "the highest that matches decides; of equal ones, denied", usual: 0 },
  { name: "disabled", kind: "boolean", meaning: "whether the rule is kept, and decides nothing", usual: false },
];

const burstOf = ({ rate }: ApiItem): unknown => (rate === "" ? 0 : Number(usualBurst(rate as Limit["rate"])));

const LIMIT_FIELDS: readonly Field[] = [
  text("id", "unique among the limits"),
  {
    name: "per",
    kind: "word",
    words: ["account", "key", "address", "namespace", "everyone"],
    meaning: "who shares it",
    required: true,
  },
  scope("<public>"),
  resource("*:*:*"),
  { name: "rate", kind: "text", meaning: "calls in a second, minute, hour or day: 100/s, 5/m, 1/h, 10/d", usual: "" },
  {
    name: "burst",
    kind: "number",
    meaning: "how many calls may come at once after a silence; by default those of one second",
    usual: burstOf,
  },
  { name: "quota", kind: "text", meaning: "calls in a day or month of UTC: 5000/day, 9000/month", usual: "" },
  { name: "concurrent", kind: "number", meaning: "how many calls may be open at once", usual: 0 },
  { name: "shadow", kind: "boolean", meaning: "whether it only counts whom it would refuse", usual: false },
];

const ACCOUNT_FIELDS: readonly Field[] = [
  text("name", "unique among the accounts"),
  { name: "scopes", kind: "list", meaning: "the scopes that it holds", usual: [] },
  { name: "disabled", kind: "boolean", meaning: "whether its login and its keys are refused", usual: false },
];

const ISSUER_FIELDS: readonly Field[] = [
  text("name", "unique among the issuers"),
  text("url", "the claim iss of its JWTs, such as https://gitlab.com"),
];

const TRUST_FIELDS: readonly Field[] = [
  text("name", "unique among the trusts"),
  text("issuer", "the name of the issuer"),
  text("audience", "one of the audiences in the claim aud"),
  text("subject", "the claim sub; * at its end stands for any rest"),
  text("account", "the account for which the JWTs stand"),
  { name: "bearer", kind: "boolean", meaning: "whether a JWT itself counts as a token", usual: false },
];

const OPTIONS: readonly (readonly [name: string, option: ServiceOption])[] = Object.entries(SERVICE_OPTIONS);

const SERVICE_FIELDS: readonly Field[] = [
  text("name", "unique among the services"),
  {
    name: "targets",
    kind: "list",
    meaning: "addresses of its gRPC servers, such as shop.example:9000; host:port=5 has a share of 5",
    required: true,
  },
  ...OPTIONS.map(([name, { meaning, value, list }]): Field => {
    const kind = value === undefined ? "boolean" : list === true ? "list" : "scalar";
    const inline = name === "httpRules" ? "service configuration in YAML with its HTTP rules, as a text" : meaning;
    return { name, kind, meaning: inline, usual: kind === "boolean" ? false : kind === "list" ? [] : "" };
  }),
  {
    name: "descriptors",
    kind: "text",
    meaning: "google.protobuf.FileDescriptorSet in base64; without it, Portico asks the servers by reflection",
    usual: "",
  },
];

/** The length of a line of base64 in a file. */
const BASE64_LINE = /.{1,76}/g;

function serviceEntry(item: ApiItem): FileItem {
  const { name, targets, options: json, descriptors } = item as unknown as ConfiguredService;
  const options = optionsOfJson(json);
  const values = OPTIONS.map(([key, option]): [string, FieldValue] => {
    const texts = option.get(options);
    if (option.value === undefined) return [key, texts.includes("true")];
    return [key, option.list ? texts : scalarOf(texts[0] ?? "")];
  });
  const base64 = descriptors.replace(BASE64_LINE, "$&\n");
  return { name, targets: targets.map(formatTarget), ...Object.fromEntries(values), descriptors: base64 };
}

/** A number where the text is one, so that the file needs no quotes. */
function scalarOf(text: string): string | number {
  return /^(?:0|[1-9]\d{0,8})$/.test(text) ? Number(text) : text;
}

function serviceItem({ name, targets, descriptors = "", ...values }: FileItem, inField: InField): ApiItem {
  const options = noServiceOptions();
  for (const [key, option] of OPTIONS) {
    const value = values[key];
    if (value === undefined) continue;
    inField(key, () => option.set(options, value === "" ? [] : [value].flat().map(String)));
  }
  const parsed = inField("targets", () => (targets as readonly string[]).map(parseTarget));
  return {
    name,
    targets: parsed,
    options: jsonOfOptions(options),
    descriptors: String(descriptors).replace(/\s/g, ""),
  };
}

/** Fields have the names of the API, and words are in lower case. */
function plain(fields: readonly Field[]): Pick<FileSection, "fields" | "toEntry" | "toItem"> {
  const words = fields.filter(({ kind }) => kind === "word").map(({ name }) => name);
  const numbers = fields.filter(({ kind }) => kind === "number").map(({ name }) => name);
  return {
    fields,
    toEntry: (item) => {
      const shown = fields.map(({ name }): [string, FieldValue] => {
        const value = item[name] as FieldValue;
        if (words.includes(name)) return [name, String(value).toLowerCase()];
        // JSON has integers of 64 bits as texts.
        return [name, numbers.includes(name) ? Number(value) : value];
      });
      return Object.fromEntries(shown);
    },
    toItem: (entry) => {
      const item = Object.entries(entry).map(([name, value]) => [
        name,
        words.includes(name) ? String(value).toUpperCase() : value,
      ]);
      return Object.fromEntries(item);
    },
  };
}

/** In the order of a file. */
export const SECTIONS: readonly FileSection[] = [
  { name: "rules", noun: "rule", key: "id", about: "Who may call what, by priority.", ...plain(RULE_FIELDS) },
  { name: "limits", noun: "limit", key: "id", about: "How much may be called.", ...plain(LIMIT_FIELDS) },
  {
    name: "accounts",
    noun: "account",
    key: "name",
    about: "Without passwords: portico auth set password NAME sets one, and portico auth create key makes a key.",
    ...plain(ACCOUNT_FIELDS),
  },
  {
    name: "services",
    noun: "service",
    key: "name",
    about: "gRPC servers that joined by their address.",
    fields: SERVICE_FIELDS,
    toEntry: serviceEntry,
    toItem: serviceItem,
  },
  { name: "issuers", noun: "issuer", key: "name", about: "Issuers of JWTs.", ...plain(ISSUER_FIELDS) },
  {
    name: "trusts",
    noun: "trust",
    key: "name",
    about: "Which JWTs stand for which account.",
    ...plain(TRUST_FIELDS),
  },
];

/** The items of a section in a message of the API, where it has the section. */
export function itemsIn(configuration: object | undefined, { name }: FileSection): readonly ApiItem[] | undefined {
  const sections = configuration as Readonly<Record<string, Readonly<Record<string, readonly ApiItem[]>>>> | undefined;
  return sections?.[name]?.[name];
}

/** The fields of an item that files do not leave out, in order. */
export function statedFields({ fields, toEntry }: FileSection, item: ApiItem): [name: string, value: FieldValue][] {
  const entry = toEntry(item);
  return fields.flatMap(({ name, usual }): [string, FieldValue][] => {
    const value = entry[name];
    const left = typeof usual === "function" ? usual(item) : usual;
    return value === undefined || JSON.stringify(value) === JSON.stringify(left) ? [] : [[name, value]];
  });
}
