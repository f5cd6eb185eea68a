/**
 * The files of a client in each language: the runtime, followed by the messages and endpoints of
 * the service.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ServiceContract } from "./contract.js";
import { packageName, writeGo } from "./go.js";
import { camel, snake } from "./names.js";
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

export function clientFile(language: Language, contract: ServiceContract): ClientFile {
  const { name } = contract;
  const origin = `by \`portico client ${name} --lang ${language}\``;
  switch (language) {
    case "ts": {
      const text = `${header(name, origin)}\n${runtime("runtime.ts")}\n${writeTypescript(contract)}`;
      return { name: `${name}.ts`, text };
    }
    case "python": {
      const packages = sendsStreams(contract)
        ? "httpx and websockets: pip install httpx websockets"
        : "httpx: pip install httpx";
      const docstring = `"""A client of the service ${name}, for Python 3.10 or later. Needs ${packages}

    with Portico() as portico:  # reads PORTICO_URL and PORTICO_TOKEN
        portico.${snake(name)}…

Code generated ${origin}. ${MARK}
"""`;
      const own = runtimeOf(contract, "portico_client.py", "portico_websocket.py", PYTHON_PARTS).replace(
        /^""".*?"""/s,
        () => docstring,
      );
      return { name: `${snake(name)}_client.py`, text: `${own}\n\n${writePython(contract)}` };
    }
    case "go": {
      const own = packageName(name);
      const needs = sendsStreams(contract) ? `\n//\n// It needs ${WEBSOCKET_MODULE}: go mod tidy` : "";
      const comment = `// Code generated ${origin}. ${MARK}

// Package ${own} is a client of the service ${name}.${needs}
package ${own}`;
      const text = runtimeOf(contract, "portico.go", "portico_websocket.go", GO_PARTS).replace(
        /^.*?^package portico$/ms,
        () => comment,
      );
      return { name: `${own}.go`, text: `${text}\n${writeGo(contract)}` };
    }
  }
}

/** Go has no WebSocket in its standard library. */
const WEBSOCKET_MODULE = "github.com/coder/websocket";

/**
 * Whether a service has an endpoint for which a client in Python or Go needs a WebSocket package.
 */
export function sendsStreams({ groups }: ServiceContract): boolean {
  return groups.some(({ endpoints }) => endpoints.some(({ shape }) => shape === "client" || shape === "bidi"));
}

/**
 * The parts of a runtime: its beginning, the imports of the standard library, the imports of
 * packages, and the code.
 */
const PYTHON_PARTS = /^(?<start>.*?\n)(?<own>(?:import [\w.]+\n)+)\n(?<packages>(?:import [\w.]+\n)+)(?<code>.*)$/s;
const GO_PARTS = /^(?<start>.*?\nimport \(\n)(?<own>(?:\t"[^"]+"\n)+)\n?(?<packages>(?:\t"[^"]+"\n)*)\)\n(?<code>.*)$/s;

/**
 * The runtime. For a service that takes streams, the code for sending streams is added, and the
 * imports of both are merged.
 */
function runtimeOf(contract: ServiceContract, base: string, streams: string, language: RegExp): string {
  if (!sendsStreams(contract)) return runtime(base);
  const [first, second] = [base, streams].map((file) => language.exec(runtime(file))?.groups ?? {});
  const lines = (part: string) => [...new Set(`${first?.[part]}${second?.[part]}`.match(/.+\n/g))].sort().join("");
  const [close, between] = language === GO_PARTS ? [")\n", ""] : ["", "\n"];
  return `${first?.start}${lines("own")}\n${lines("packages")}${close}${first?.code}${between}${second?.code}`;
}

/** The file that makes the folder of a Go package a module of its own. */
export function goModule(service: string): ClientFile {
  return { name: "go.mod", text: `module ${packageName(service)}\n\ngo 1.24\n` };
}

function runtime(file: string): string {
  return readFileSync(join(RUNTIMES, file), "utf8");
}

function header(service: string, origin: string): string {
  return `/**
 * A client of the service ${service} for Node and browsers, without dependencies.
 *
 *     const portico = new Portico({ url: "http://127.0.0.1:8080", token });
 *     await portico.${camel(service)}…
 *
 * Code generated ${origin}. ${MARK}
 */
`;
}
