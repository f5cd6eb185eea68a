/**
 * The files of a client in each language: the runtime, followed by the messages and endpoints of
 * the service.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ServiceContract } from "./contract.js";
import { packageName, writeGo } from "./go.js";
import { camel, inWords, snake } from "./names.js";
import { writePython } from "./python.js";
import { writeTypescript } from "./typescript.js";

export const LANGUAGES = ["ts", "python", "go"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Every generated file contains this text. A file without it is never overwritten. */
export const MARK = "DO NOT EDIT.";

/** The only file of a client. */
export interface ClientFile {
  readonly name: string;
  readonly text: string;
}

/** Where scripts/build-client.mjs puts the runtimes, beside the bundle. */
const RUNTIMES = join(import.meta.dirname, "client");

/** The client of one service has its name. A client of several services is named `portico`. */
export function clientFile(language: Language, contracts: readonly ServiceContract[]): ClientFile {
  const [first] = contracts;
  const name = contracts.length === 1 && first ? first.name : "portico";
  const origin = `by \`portico client ${contracts.map((one) => one.name).join(" ")} --lang ${language}\``;
  const about = `A client of ${inWords(contracts)}`;
  switch (language) {
    case "ts": {
      const text = `${header(about, camel(first?.name ?? name), origin)}\n${runtime("runtime.ts")}\n${writeTypescript(...contracts)}`;
      return { name: `${name}.ts`, text };
    }
    case "python": {
      const packages = sendsStreams(contracts)
        ? "httpx and websockets: pip install httpx websockets"
        : "httpx: pip install httpx";
      const docstring = `"""${about}, for Python 3.10 or later. Needs ${packages}

    with Portico() as portico:  # reads PORTICO_URL and PORTICO_TOKEN
        portico.${snake(first?.name ?? name)}…

Code generated ${origin}. ${MARK}
"""`;
      const own = runtimeOf(contracts, "portico_client.py", "portico_websocket.py", PYTHON_PARTS).replace(
        /^""".*?"""/s,
        () => docstring,
      );
      return { name: `${snake(name)}_client.py`, text: `${own}\n\n${writePython(...contracts)}` };
    }
    case "go": {
      const own = packageName(name);
      const needs = sendsStreams(contracts) ? `\n//\n// It needs ${WEBSOCKET_MODULE}: go mod tidy` : "";
      const comment = `// Code generated ${origin}. ${MARK}

// Package ${own} is a client of ${inWords(contracts)}.${needs}
package ${own}`;
      const text = runtimeOf(contracts, "portico.go", "portico_websocket.go", GO_PARTS).replace(
        /^.*?^package portico$/ms,
        () => comment,
      );
      return { name: `${own}.go`, text: `${text}\n${writeGo(...contracts)}` };
    }
  }
}

/** Go has no WebSocket in its standard library. */
const WEBSOCKET_MODULE = "github.com/coder/websocket";

/**
 * Whether the services have an endpoint for which a client in Python or Go needs a WebSocket
 * package.
 */
function sendsStreams(contracts: readonly ServiceContract[]): boolean {
  return contracts
    .flatMap(({ groups }) => groups)
    .some(({ endpoints }) => endpoints.some(({ shape }) => shape === "client" || shape === "bidi"));
}

/**
 * The parts of a runtime: its beginning, the imports of the standard library, the imports of
 * packages, and the code.
 */
const PYTHON_PARTS = /^(?<start>.*?\n)(?<own>(?:import [\w.]+\n)+)\n(?<packages>(?:import [\w.]+\n)+)(?<code>.*)$/s;
const GO_PARTS = /^(?<start>.*?\nimport \(\n)(?<own>(?:\t"[^"]+"\n)+)\n?(?<packages>(?:\t"[^"]+"\n)*)\)\n(?<code>.*)$/s;

/**
 * The runtime. For services that take streams, the code for sending streams is added, and the
 * imports of both are merged.
 */
function runtimeOf(contracts: readonly ServiceContract[], base: string, streams: string, language: RegExp): string {
  if (!sendsStreams(contracts)) return runtime(base);
  const [first, second] = [base, streams].map((file) => language.exec(runtime(file))?.groups ?? {});
  const lines = (part: string) => [...new Set(`${first?.[part]}${second?.[part]}`.match(/.+\n/g))].sort().join("");
  const [close, between] = language === GO_PARTS ? [")\n", ""] : ["", "\n"];
  return `${first?.start}${lines("own")}\n${lines("packages")}${close}${first?.code}${between}${second?.code}`;
}

/** The file that makes the folder of a Go package a module of its own. */
export function goModule({ name }: ClientFile): ClientFile {
  return { name: "go.mod", text: `module ${name.replace(/\.go$/, "")}\n\ngo 1.24\n` };
}

function runtime(file: string): string {
  return readFileSync(join(RUNTIMES, file), "utf8");
}

function header(about: string, member: string, origin: string): string {
  return `/**
 * ${about} for Node and browsers, without dependencies.
 *
 *     const portico = new Portico({ url: "http://127.0.0.1:8080", token });
 *     await portico.${member}…
 *
 * Code generated ${origin}. ${MARK}
 */
`;
}
