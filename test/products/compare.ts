/**
 * Runs the same calls twice: at a product's own gateway, and through Portico in front of a second
 * process of the product. Both processes begin empty, so the same calls have the same results.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Test } from "tap";
import { run } from "../outside/tools.js";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { until } from "../support/until.js";

/** The longest response time of a product, in milliseconds. */
const CALL_TIME = 30_000;
/** The longest start of a product on a busy computer, in milliseconds. */
const START_TIME = 60_000;

/** A request, or a command. A name in braces stands for a value that an earlier case saved. */
export interface Case {
  /** Method and path, such as `GET /stores`. */
  readonly http?: string;
  /** The arguments of the product's client, such as `put a 1`. */
  readonly command?: readonly string[];
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The members of the response that later cases use, by their names there. */
  readonly save?: Readonly<Record<string, string>>;
  /** How many lines of the response are compared. Then the request is cancelled. */
  readonly lines?: number;
  readonly differs?: Difference;
}

/** Why Portico's response is not the same, and where. */
export interface Difference {
  readonly reason: string;
  /** What is different, such as `status`, `body` and `body.code`. All else is the same. */
  readonly members: readonly string[];
}

/** The difference from every product that contains grpc-gateway. */
export const ROUTING: Difference = {
  reason: "responses to unknown paths and methods are Portico's",
  members: ["status", "body"],
};

/** The gateways describe a malformed request in words of their own. */
export const WORDS: Difference = {
  reason: "a malformed request is described in other words",
  members: ["body.message"],
};

/** The place at which the cases are run. */
export interface Side {
  /** Its HTTP address, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The product's client and its arguments before the arguments of a case. */
  readonly client?: readonly string[];
  /** Stands for `{address}` in a case. */
  readonly address?: string;
}

/**
 * Compares the response to each case. A case that `differs` must be different, so that the reasons
 * stay true.
 * @param normalize replaces what is different in each process, such as generated IDs
 */
export async function compare(
  t: Test,
  cases: readonly Case[],
  sides: { readonly own: Side; readonly portico: Side },
  normalize: (text: string) => string,
): Promise<void> {
  const saved = { own: known(sides.own), portico: known(sides.portico) };
  for (const [index, each] of cases.entries()) {
    const title = each.http ?? each.command?.join(" ") ?? "";
    const shown = async (side: "own" | "portico") => {
      const response = await responseTo(replace(each, saved[side]), sides[side]);
      for (const [name, member] of Object.entries(each.save ?? {}))
        saved[side].set(name, String(memberOf(parse(response.text), member)));
      const { text, ...rest } = response;
      return { ...rest, body: parse(normalize(text)) };
    };
    await t.test(`${index + 1}. ${title}`, async (t) => {
      const own = await shown("own");
      const portico = await shown("portico");
      const { reason, members } = each.differs ?? { reason: undefined, members: [] };
      if (reason !== undefined) t.notOk(isDeepStrictEqual(portico, own), `is different: ${reason}`);
      for (const response of [own, portico]) for (const member of members) leaveOut(response, member);
      t.strictSame(portico, own);
    });
  }
  const different = cases.filter(({ differs }) => differs !== undefined).length;
  t.comment(`${cases.length} cases: ${cases.length - different} the same, ${different} different with a reason`);
}

/** The values that cases may use. */
function known({ address = "" }: Side): Map<string, string> {
  return new Map([["address", address]]);
}

/** Starts a server of a product, which ends with the test, and waits until its path returns 200. */
export async function serve(t: Test, program: string, args: readonly string[], ready: string): Promise<void> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output = `${output}${text}`.slice(-2_000);
    });
  }
  t.teardown(async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  });
  await until(() => isServed(ready), { what: () => `${ready} is served; it printed ${output}`, within: START_TIME });
}

/**
 * Starts Portico with a service in portico.json, and waits until it is served.
 * @returns its HTTP address and its data folder
 */
export async function porticoFor(
  t: Test,
  folder: string,
  service: { readonly name: string; readonly [member: string]: unknown },
) {
  const data = await installation(join(folder, "portico"));
  writeFileSync(join(data, "portico.json"), JSON.stringify({ services: [service] }));
  const portico = await start(["server", "--services", "none"], {
    PORTICO_DATA: data,
    PORTICO_CREDENTIALS: join(data, "credentials"),
  });
  t.teardown(() => portico.stop());
  const url = portico.address("HTTP");
  const what = () => `${service.name} is served; Portico printed ${portico.errors()}`;
  await until(() => isServed(`${url}/openapi/${service.name}.json`), { what });
  return { url, data };
}

function isServed(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(CALL_TIME) }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** Replaces `{name}` in path, arguments and body. */
function replace(each: Case, saved: ReadonlyMap<string, string>): Case {
  const text = JSON.stringify(each).replaceAll(/\{(\w+)\}/g, (braces, name) => saved.get(name) ?? braces);
  return JSON.parse(text);
}

async function responseTo(each: Case, { url, headers, client = [] }: Side) {
  if (each.command !== undefined) {
    const [program = "", ...args] = client;
    const { status, output } = await run(program, [...args, ...each.command]);
    return { status, type: undefined, text: output };
  }
  const [method = "", path = ""] = each.http?.split(" ") ?? [];
  const body = typeof each.body === "string" ? each.body : JSON.stringify(each.body);
  const cancelled = new AbortController();
  const response = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers, ...each.headers },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.any([cancelled.signal, AbortSignal.timeout(CALL_TIME)]),
  });
  const text = each.lines === undefined ? await response.text() : await linesOf(response, each.lines);
  cancelled.abort();
  return { status: response.status, type: response.headers.get("content-type")?.split(";")[0], text };
}

async function linesOf(response: Response, count: number): Promise<string> {
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = text.split("\n");
    if (lines.length > count) return lines.slice(0, count).join("\n");
  }
  return text;
}

/** A JSON value, a list of JSON values of lines, or the text. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const lines = text.trim().split("\n");
    try {
      return lines.map((line) => JSON.parse(line));
    } catch {
      return text;
    }
  }
}

/** @param path names of members with dots between them, such as `header.revision` */
function memberOf(value: unknown, path: string): unknown {
  return path.split(".").reduce((each, name) => (each as Record<string, unknown> | undefined)?.[name], value);
}

function leaveOut(value: object, path: string): void {
  const names = path.split(".");
  const parent = names.length === 1 ? value : memberOf(value, names.slice(0, -1).join("."));
  if (typeof parent === "object" && parent !== null) Reflect.deleteProperty(parent, names.at(-1)!);
}
