/** What can stand on a command line, by the kind of word: names that the gateway and the authority know. */
import type { Command, Option } from "commander";
import { type EndpointContract, findEndpoint, readContract } from "../call/contract.js";
import { isOutput } from "../call/words.js";
import type { Client } from "../http/client.js";
import { profileNames } from "../http/profile.js";
import { firstSentence, listServices, type Service } from "../nouns/services.js";
import { pathOf } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { FORMATS } from "../terminal/output.js";

export interface Candidate {
  readonly text: string;
  /** What it is, for shells that show it. */
  readonly about?: string;
  /** Whether the word goes on after it, so that no space follows. */
  readonly open?: boolean;
}

/** A method of Candidates that gives all of one kind. */
type Source = Exclude<keyof Candidates, "afterService">;

/** By the path of the command and the name of the argument. */
const ARGUMENTS: Readonly<Record<string, Source>> = {
  "describe service": "services",
  "openapi service": "services",
  "usage service": "services",
  "call service": "services",
  "call endpoint": "endpoints",
  "service name": "ownServices",
  "auth explain resource": "resources",
  "auth delete rule id": "rules",
  "auth delete account name": "accounts",
  "auth delete key key": "keys",
  "auth rotate key key": "keys",
  "auth delete namespace name": "namespaces",
  "auth delete enrolment name": "enrolments",
  "auth create enrolment name": "joining",
  "auth set scopes account": "accounts",
  "auth set scopes scopes": "scopes",
  "auth set password account": "accounts",
};

const OPTIONS: Readonly<Record<string, Source>> = {
  "--account": "accounts",
  "--scope": "scopes",
  "--resource": "resources",
  "--profile": "profiles",
  "--namespace": "namespaces",
};

export function sourceOfArgument(command: Command, argument: string): Source | undefined {
  if (command.parent === null) return argument === "service" ? "services" : undefined;
  return ARGUMENTS[`${pathOf(command).replace(/^portico /, "")} ${argument}`];
}

export function sourceOfOption({ long }: Option): Source | undefined {
  return OPTIONS[long ?? ""];
}

export class Candidates {
  readonly #io: Io;
  readonly #connect: () => Client;

  /** @param connect is called where the gateway must be asked. */
  constructor(io: Io, connect: () => Client) {
    this.#io = io;
    this.#connect = connect;
  }

  async services(): Promise<Candidate[]> {
    const services = await listServices(this.#connect()).catch(() => []);
    return services.map(({ name, summary }) => ({ text: name, about: firstSentence(summary) }));
  }

  /** As `portico call` takes them. */
  async endpoints(service = ""): Promise<Candidate[]> {
    const endpoints = (await this.#service(service))?.endpoints ?? [];
    return endpoints.map(({ path, summary }) => ({
      text: path.split("/").slice(3).join("/"),
      about: firstSentence(summary),
    }));
  }

  async rules(): Promise<Candidate[]> {
    const rules = await this.#list<{ id: string; access: string; scope: string; resource: string }>(
      "Rules/List",
      "rules",
    );
    return rules.map(({ id, access, scope, resource }) => ({ text: id, about: `${access} ${scope} ${resource}` }));
  }

  async accounts(): Promise<Candidate[]> {
    const accounts = await this.#list<{ name: string; scopes: string[] }>("Accounts/List", "accounts");
    return accounts.map(({ name, scopes }) => ({ text: name, about: scopes.join(", ") }));
  }

  /** Keys are named by prefix; a name stands for its key where it is the only one of that name. */
  async keys(): Promise<Candidate[]> {
    const keys = await this.#list<{ prefix: string; name: string; account: string }>("Keys/List", "keys");
    const about = ({ name, account }: { name: string; account: string }) => `${name} of ${account}`;
    const named = keys.filter(({ name }) => keys.filter((other) => other.name === name).length === 1);
    return [
      ...named.map((key) => ({ text: key.name, about: `${key.prefix} of ${key.account}` })),
      ...keys.map((key) => ({ text: key.prefix, about: about(key) })),
    ];
  }

  async namespaces(): Promise<Candidate[]> {
    return namesOf(await this.#list<{ name: string }>("Namespaces/List", "namespaces"));
  }

  async enrolments(): Promise<Candidate[]> {
    return namesOf(await this.#list<{ name: string }>("Enrolments/List", "enrolments"));
  }

  /** Names that an enrolment may be for. */
  async joining(): Promise<Candidate[]> {
    return [{ text: "gateway", about: "a gateway alone" }, ...(await this.services())];
  }

  async ownServices(): Promise<Candidate[]> {
    return [{ text: "helloworld" }];
  }

  async profiles(): Promise<Candidate[]> {
    return profileNames(this.#io.env).map((text) => ({ text }));
  }

  /** `<public>`, `*`, and those that accounts hold. */
  async scopes(): Promise<Candidate[]> {
    const accounts = await this.#list<{ scopes: string[] }>("Accounts/List", "accounts");
    const held = [...new Set(accounts.flatMap(({ scopes }) => scopes))];
    return [
      { text: "<public>", about: "everyone" },
      { text: "*", about: "anyone logged in" },
      ...held.map((text) => ({ text })),
    ];
  }

  /** Patterns: everything, each service, each endpoint. */
  async resources(): Promise<Candidate[]> {
    const services = await listServices(this.#connect()).catch(() => []);
    return [
      { text: "*:*:*", about: "everything" },
      ...services.flatMap(({ name, endpoints }) => [
        { text: `service:${name}:*`, about: `every endpoint of ${name}` },
        ...endpoints.map(({ resource, summary }) => ({ text: resource, about: firstSentence(summary) })),
      ]),
    ];
  }

  /** What may follow `portico <service>`: words of endpoints, then fields, and `-o`. */
  async afterService(service: string, words: readonly string[], current: string): Promise<Candidate[]> {
    if (words.length > 0 && isOutput(words.at(-1) ?? "")) return FORMATS.map((text) => ({ text }));
    const endpoints = await readContract(this.#connect(), service);
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

  async #service(name: string): Promise<Service | undefined> {
    const services = await listServices(this.#connect()).catch(() => []);
    return services.find((service) => service.name === name.toLowerCase());
  }

  async #list<T>(endpoint: string, member: string): Promise<T[]> {
    const answer = await this.#connect()
      .authority<Record<string, T[]>>(endpoint)
      .catch(() => ({}) as Record<string, T[]>);
    return answer[member] ?? [];
  }
}

function namesOf(items: readonly { readonly name: string }[]): Candidate[] {
  return items.map(({ name }) => ({ text: name }));
}

/** The next word of each endpoint whose words begin with those given. */
function nextWords(endpoints: readonly EndpointContract[], given: readonly string[]): Candidate[] {
  const next = new Map<string, Candidate>();
  for (const { words, comment } of endpoints) {
    const all = words.split(" ");
    const text = all[given.length];
    if (text === undefined || given.some((word, index) => word.toLowerCase() !== all[index])) continue;
    next.set(text, { text, about: all.length === given.length + 1 ? firstSentence(comment) : "" });
  }
  return [...next.values()];
}

/** `--name=`; `--gift` for a boolean; each value of an enum once its name is there. */
function fieldsOf(endpoint: EndpointContract | undefined, current: string): Candidate[] {
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
