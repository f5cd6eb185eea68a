/** The files of a new service, as text. */
import packageJson from "../../package.json" with { type: "json" };
import { PACKED, VENDOR } from "./pack.js";

/** The packages that build and check a service, in the versions that Portico itself uses. */
const TOOLS = ["@bufbuild/buf", "@types/node", "esbuild", "ts-proto", "typescript"] as const;

const COMPILER_OPTIONS = {
  target: "es2023",
  module: "nodenext",
  types: ["node"],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
};

/**
 * @param name lower-case letters and digits, starting with a letter.
 * @returns texts by path.
 */
export function filesOf(name: string): ReadonlyMap<string, string> {
  const grpcService = name[0]?.toUpperCase() + name.slice(1);
  return new Map([
    [`proto/${name}.proto`, proto(name, grpcService)],
    [`${name}.ts`, handlers(name, grpcService)],
    [`${name}.test.ts`, tests(name)],
    ["main.ts", main(name, grpcService)],
    ["package.json", json(manifest(name))],
    ["tsconfig.json", json({ compilerOptions: COMPILER_OPTIONS, exclude: ["dist"] })],
    [".gitignore", "node_modules/\ngen/\ndist/\n.portico/\n"],
    ["README.md", readme(name)],
  ]);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function proto(name: string, grpcService: string): string {
  return `syntax = "proto3";

package ${name};

// Greets people.
service ${grpcService} {
  // Greets a name.
  rpc Call(CallRequest) returns (CallResponse);
}

message CallRequest {
  // Who to greet, such as \`Ada\`.
  string name = 1;
}

message CallResponse {
  // The greeting, such as \`Hello Ada\`.
  string message = 1;
}
`;
}

function handlers(name: string, grpcService: string): string {
  return `import { type Implementation, invalidArgument } from "portico/service";
import type { ${grpcService}Service } from "./gen/${name}.js";

/** The handlers: one function for each endpoint in proto/${name}.proto. */
export const handlers: Implementation<typeof ${grpcService}Service> = {
  async call({ name }) {
    if (name === "") throw invalidArgument("name: must not be empty");
    return { message: \`Hello \${name}\` };
  },
};
`;
}

function tests(name: string): string {
  return `import assert from "node:assert/strict";
import test from "node:test";
import { testCall } from "portico/service";
import { CallRequest } from "./gen/${name}.js";
import { handlers } from "./${name}.js";

test("greets a name", async () => {
  const request = CallRequest.fromPartial({ name: "Ada" });
  assert.deepEqual(await handlers.call(request, testCall()), { message: "Hello Ada" });
});

test("refuses an empty name", async () => {
  const request = CallRequest.fromPartial({});
  await assert.rejects(async () => handlers.call(request, testCall()), /name: must not be empty/);
});
`;
}

function main(name: string, grpcService: string): string {
  return `import { serve } from "portico/service";
import { descriptors } from "./gen/descriptors.js";
import { ${grpcService}Service } from "./gen/${name}.js";
import { handlers } from "./${name}.js";

await serve(${grpcService}Service, handlers, { name: "${name}", descriptors });
`;
}

function manifest(name: string): object {
  const { devDependencies } = packageJson;
  return {
    name,
    private: true,
    type: "module",
    engines: packageJson.engines,
    scripts: {
      dev: "portico dev",
      build: "portico build",
      start: "node --enable-source-maps dist/main.js",
      test: `portico build && node --test dist/${name}.test.js`,
      check: "portico build && tsc",
    },
    dependencies: { portico: `file:${VENDOR}/${PACKED}` },
    devDependencies: Object.fromEntries(TOOLS.map((tool) => [tool, devDependencies[tool]])),
    allowScripts: { "@bufbuild/buf": true, esbuild: true },
  };
}

function readme(name: string): string {
  return `# ${name}

A service of Portico: gRPC inside, called as JSON from outside.

    npm install
    npm run dev        # a gateway and this service; reloads what you save

    $ curl 'http://127.0.0.1:8080/${name}?name=Ada'
    {"message":"Hello Ada"}

| file | what it is |
|---|---|
| \`proto/${name}.proto\` | what the service offers; its comments are its documentation, at http://127.0.0.1:8080/explore/${name} |
| \`${name}.ts\` | what it does |
| \`${name}.test.ts\` | its tests: \`npm test\` |
| \`main.ts\` | starts it |
| \`gen/\` | types and descriptors, written from \`proto/\`; not in git |
| \`dist/\` | the built service, which runs elsewhere; not in git |
| \`${VENDOR}/\` | the version of Portico that built it, which \`npm install\` installs: keep it in git |

\`npm run check\` checks the types.

## Elsewhere

    portico auth create enrolment ${name}                       # where Portico runs; prints a token
    npm run build                                               # makes dist/
    PORTICO_AUTHORITY=portico.example:8081 PORTICO_ENROLMENT=pte_… npm start

\`dist/\` needs nothing but Node: copy it to another machine, and run \`node main.js\` there. Or make an image, with its Dockerfile:
\`docker build --tag ${name} dist\`.

The service checks who may call, as the rules of Portico say, also for calls that do not come through its door.

## A newer Portico

    npm pack "$(npm root --global)/portico" --ignore-scripts --pack-destination=${VENDOR}
    npm install ./${VENDOR}/portico-….tgz
`;
}
