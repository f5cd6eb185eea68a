/**
 * What a visitor pastes into each kind of client, with the address of this gateway. A key is
 * written into it only after the visitor has made one on the page. Otherwise a program reads
 * PORTICO_TOKEN. test/gateway/web/first.browser.ts runs them as they are written here.
 */
import { snippetsFor } from "../explore/snippets.js";

export interface Target {
  /** The gateway's origin, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly service: string;
  /** The endpoint that is called, with one JSON request and one JSON response. */
  readonly call: {
    /** Such as `/v1/helloworld/Call`. */
    readonly path: string;
    readonly body: unknown;
    /** Such as `/helloworld.Helloworld/Call`; undefined if gRPC clients cannot call it. */
    readonly grpcPath: string | undefined;
  };
  /** Whether everyone may call it, with or without a token. */
  readonly open: boolean;
  readonly key: string | undefined;
}

export interface Block {
  /** What it is, and where it goes. */
  readonly title: string;
  /** How a comment begins. */
  readonly comment: "#" | "//";
  readonly code: string;
}

interface Client {
  readonly id: string;
  readonly title: string;
  readonly blocks: (target: Target) => readonly Block[];
}

/** The variable of a shell that has a token. */
const TOKEN = "$PORTICO_TOKEN";

export const CLIENTS: readonly Client[] = [
  { id: "curl", title: "HTTP", blocks: curlBlocks },
  { id: "node", title: "TypeScript", blocks: (target) => program(target, "node", "ts") },
  { id: "python", title: "Python", blocks: (target) => program(target, "python", "python") },
  { id: "go", title: "Go", blocks: (target) => program(target, "go", "go") },
  { id: "grpc", title: "gRPC", blocks: grpcBlocks },
  { id: "agents", title: "Agents", blocks: agentBlocks },
];

function needsToken({ open, key }: Target): boolean {
  return !open || key !== undefined;
}

/** Sets the variable that the code below reads. */
function tokenBlock(target: Target): Block[] {
  if (!needsToken(target)) return [];
  const [title, value] =
    target.key === undefined
      ? ["First, the token of your login", "$(portico user token)"]
      : ["First, the key", target.key];
  return [{ title: `${title}, in the same terminal`, comment: "#", code: `export PORTICO_TOKEN=${value}` }];
}

/** One command; it has the key, if there is one. */
function command(target: Target, title: string, code: string): Block[] {
  if (target.key !== undefined) return [{ title, comment: "#", code: code.replaceAll(TOKEN, target.key) }];
  return [...tokenBlock(target), { title, comment: "#", code }];
}

function snippet(target: Target, id: "curl" | "node" | "python" | "go"): string {
  const { path, body } = target.call;
  const made = snippetsFor({ origin: target.origin, path, shape: "unary", withToken: needsToken(target), body });
  return made.find((one) => one.id === id)?.code ?? "";
}

function curlBlocks(target: Target): Block[] {
  return command(target, "A call, with curl", snippet(target, "curl"));
}

const FILES = {
  node: { file: "call.mts", run: "npx tsx call.mts", comment: "//" },
  python: { file: "call.py", run: "python3 call.py", comment: "#" },
  go: { file: "main.go", run: "go run main.go", comment: "//" },
} as const;

function program(target: Target, id: keyof typeof FILES, lang: string): Block[] {
  const { file, run, comment } = FILES[id];
  // The snippet's first line says how Node.js runs it as JavaScript.
  const code = snippet(target, id).replace(/^\/\/ Save as [^\n]*\n/, "");
  return [
    ...tokenBlock(target),
    { title: `Save as ${file}, and run: ${run}`, comment, code },
    {
      title: "Or a client with types, generated from the contract",
      comment: "#",
      code: `portico client ${target.service} --url ${target.origin} --lang ${lang} --dir .`,
    },
  ];
}

function grpcBlocks(target: Target): Block[] {
  const { origin, call } = target;
  const { protocol, hostname, port } = new URL(origin);
  const address = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  const header = needsToken(target) ? ` -H "authorization: Bearer ${TOKEN}"` : "";
  const grpcurl = `grpcurl${protocol === "https:" ? "" : " -plaintext"}${header}`;
  const list = `${grpcurl} ${address} list`;
  if (call.grpcPath === undefined) return command(target, "Its gRPC services, by reflection", list);
  const data = JSON.stringify(call.body).replaceAll("'", "'\\''");
  const code = `${grpcurl} \\\n  -d '${data}' ${address} ${call.grpcPath.slice(1)}`;
  return command(target, "A call, with grpcurl; it finds the contract by reflection", code);
}

function agentBlocks(target: Target): Block[] {
  const url = `${target.origin}/mcp`;
  const { key } = target;
  const withToken = needsToken(target);
  const headers = (token: string) => (withToken ? { headers: { Authorization: `Bearer ${key ?? token}` } } : {});
  const ask = { type: "promptString", id: "portico", description: "Portico API key", password: true };
  // VS Code asks for the input, and Cursor reads the variable, where these texts stand.
  const [input, variable] = ["$" + "{input:portico}", "$" + "{env:PORTICO_TOKEN}"];
  const vsCode = {
    ...(withToken && key === undefined && { inputs: [ask] }),
    servers: { portico: { type: "http", url, ...headers(input) } },
  };
  const cursor = { mcpServers: { portico: { url, ...headers(variable) } } };
  const header = withToken ? ` \\\n  --header "Authorization: Bearer ${key ?? TOKEN}"` : "";
  const json = (value: unknown) => JSON.stringify(value, null, 2);
  return [
    { title: "Claude Code", comment: "#", code: `claude mcp add --transport http portico ${url}${header}` },
    { title: "VS Code, in .vscode/mcp.json", comment: "//", code: json(vsCode) },
    { title: "Cursor, in ~/.cursor/mcp.json", comment: "//", code: json(cursor) },
    ...(withToken && key === undefined ? signInBlocks(target.origin) : []),
  ];
}

/** For agents that send a person to sign in and consent (OAuth), and need no key. */
function signInBlocks(origin: string): Block[] {
  const url = `${origin}/mcp`;
  const vsCode = JSON.stringify({ servers: { portico: { type: "http", url } } }, null, 2);
  const client = "portico auth create client my-agent --redirect-uri=https://agent.example/callback";
  return [
    { title: "Claude or ChatGPT, by sign-in (not tried)", comment: "#", code: url },
    { title: "VS Code, by sign-in (not tried)", comment: "//", code: vsCode },
    { title: "An agent that asks for a client ID, by sign-in", comment: "#", code: client },
  ];
}
