/** The files of a client in each language: the runtime, and after it the messages and endpoints of the service. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ServiceContract } from "./contract.js";
import { packageName, writeGo } from "./go.js";
import { camel, snake } from "./names.js";
import { writePython } from "./python.js";
import { writeTypescript } from "./typescript.js";

export const LANGUAGES = ["ts", "python", "go"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Stands in every file that is written here. */
export const MARK = "DO NOT EDIT.";

/** The one file of a client. */
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
      const docstring = `"""A client of the service ${name}, for Python 3.10 or later. Needs httpx: pip install httpx

    with Portico() as portico:  # reads PORTICO_URL and PORTICO_TOKEN
        portico.${snake(name)}…

Code generated ${origin}. ${MARK}
"""`;
      const own = runtime("portico_client.py").replace(/^""".*?"""/s, () => docstring);
      return { name: `${snake(name)}_client.py`, text: `${own}\n\n${writePython(contract)}` };
    }
    case "go": {
      const own = packageName(name);
      const comment = `// Code generated ${origin}. ${MARK}

// Package ${own} is a client of the service ${name}.
package ${own}`;
      const text = runtime("portico.go").replace(/^.*?^package portico$/ms, () => comment);
      return { name: `${own}.go`, text: `${text}\n${writeGo(contract)}` };
    }
  }
}

/** What a folder of the package in Go needs to be a module of its own. */
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
