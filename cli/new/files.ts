/** The files of a new service, as text. */

/** The address on which a new service listens by default. */
const ADDRESS = "127.0.0.1:9000";

const COMPILER_OPTIONS = {
  target: "es2023",
  module: "nodenext",
  types: ["node"],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
};

/** How portico.json names a service; `descriptors` is the path of its google.protobuf.FileDescriptorSet. */
export function entryFor(name: string, descriptors: string): object {
  return { name, target: ADDRESS, descriptors };
}

/**
 * @param name lower-case letters and digits, starting with a letter.
 * @returns text by path.
 */
export function filesOf(name: string): ReadonlyMap<string, string> {
  const grpcService = name[0]?.toUpperCase() + name.slice(1);
  return new Map([
    [`proto/${name}.proto`, proto(name, grpcService)],
    ["server.ts", server(name, grpcService)],
    ["portico.json", json({ services: [entryFor(name, `${name}.binpb`)] })],
    ["package.json", json(packageJson(name))],
    ["tsconfig.json", json({ compilerOptions: COMPILER_OPTIONS })],
    [".gitignore", `node_modules/\n${name}.binpb\n`],
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

function server(name: string, grpcService: string): string {
  return `// Serves proto/${name}.proto: npm start [-- host:port]
import { type handleUnaryCall, Server, ServerCredentials, type ServiceDefinition, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

interface CallRequest {
  name: string;
}

interface CallResponse {
  message: string;
}

const call: handleUnaryCall<CallRequest, CallResponse> = ({ request }, callback) => {
  if (request.name === "") callback({ code: status.INVALID_ARGUMENT, details: "name: must not be empty" });
  else callback(null, { message: \`Hello \${request.name}\` });
};

const contract = loadSync("proto/${name}.proto", { defaults: true, enums: String, longs: String, oneofs: true });
const [address = "${ADDRESS}"] = process.argv.slice(2);
const server = new Server();
server.addService(contract["${name}.${grpcService}"] as ServiceDefinition, { call });
server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(\`${name} listens on \${address.replace(/\\d+$/, String(port))}\`);
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server.tryShutdown(() => {}));
`;
}

function packageJson(name: string): object {
  return {
    name,
    private: true,
    type: "module",
    engines: { node: ">=20.19" },
    scripts: { start: `buf build proto -o ${name}.binpb && tsx server.ts`, check: "tsc" },
    dependencies: { "@grpc/grpc-js": "^1.14.7", "@grpc/proto-loader": "^0.8.1" },
    devDependencies: {
      "@bufbuild/buf": "1.74.0",
      "@types/node": "^20.19.0",
      tsx: "^4.23.15",
      typescript: "^5.9.3",
    },
    allowScripts: { "@bufbuild/buf": true, esbuild: true, protobufjs: false },
  };
}

function readme(name: string): string {
  return `# ${name}

A gRPC service that is called through Portico as JSON.

    npm install
    npm start                                 # serves on ${ADDRESS}
    portico server --config portico.json      # in another terminal, in this folder

    $ curl 'http://127.0.0.1:8080/${name}?name=Ada'
    {"message":"Hello Ada"}

    $ portico ${name} --name=Ada

| file | what it is |
|---|---|
| \`proto/${name}.proto\` | what the service offers; its comments are what \`portico describe ${name}\` and the API pages say |
| \`server.ts\` | what it does; \`npm run check\` checks its types |
| \`portico.json\` | how Portico finds it: name, address, and the descriptors that \`npm start\` makes of \`proto/\` |

Where Portico runs already, put the entry of \`portico.json\` into \`services\` of the one in its data folder, with the whole
path of \`${name}.binpb\`, and start Portico again. From then on it reads a changed contract by itself, within 30 seconds.

Portico decides who may call before it calls. The service sees no token, so let nobody but Portico reach its port.
`;
}
