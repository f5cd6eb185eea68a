/**
 * Writes a call as code, in several languages. Each snippet runs in an empty folder with only the
 * language installed. It contains no token: a program reads PORTICO_TOKEN, and a page asks for a
 * token. test/gateway/web/snippets.ts runs every snippet as it is written here.
 */

import type { RestRequest } from "./rest.js";

export type Shape = "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";

export interface SnippetCall {
  /** The gateway's origin, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** The path, such as `/v1/helloworld/Call` with a token. */
  readonly path: string;
  readonly shape: Shape;
  readonly withToken: boolean;
  /** The request; for a client stream, its only message. */
  readonly body: unknown;
  /**
   * Whether the request may be a body of any bytes (google.api.HttpBody). If so, a file is sent.
   */
  readonly takesBytes?: boolean | undefined;
  /**
   * Whether the response is bytes of any type (google.api.HttpBody). If so, it is written to a
   * file.
   */
  readonly returnsBytes?: boolean | undefined;
  /** The namespace if it is not the caller's own; only for calls without a token. */
  readonly namespace?: string | undefined;
  /** The same call at a REST path, which replaces `path` and `body`. */
  readonly rest?: RestRequest | undefined;
}

interface Snippet {
  readonly id: "curl" | "node" | "browser" | "python" | "go" | "portico";
  readonly title: string;
  /** How a comment begins. */
  readonly comment: "#" | "//";
  readonly code: string;
}

/**
 * The snippets that can make the call without installing anything. A stream of messages from the
 * client needs a WebSocket, for which curl, Python and Go have no client. A call at a REST path is
 * written only for curl and fetch.
 */
export function snippetsFor(call: SnippetCall): Snippet[] {
  const snippets = allSnippets(call);
  return call.rest === undefined ? snippets : snippets.filter(({ id }) => REST.has(id));
}

const REST: ReadonlySet<string> = new Set(["curl", "node", "browser"]);

function allSnippets(call: SnippetCall): Snippet[] {
  const socket = needsSocket(call);
  const all: readonly (Omit<Snippet, "code"> & { readonly code: string | undefined })[] = [
    { id: "curl", title: "curl", comment: "#", code: socket ? undefined : curl(call) },
    { id: "node", title: "Node.js", comment: "//", code: socket ? nodeSocket(call) : node(call) },
    { id: "browser", title: "Browser", comment: "//", code: socket ? browserSocket(call) : browser(call) },
    { id: "python", title: "Python", comment: "#", code: socket ? undefined : python(call) },
    { id: "go", title: "Go", comment: "//", code: socket ? undefined : go(call) },
    { id: "portico", title: "portico", comment: "#", code: portico(call) },
  ];
  return all.flatMap(({ code, ...rest }) => (code === undefined ? [] : [{ ...rest, code }]));
}

/** A two-way stream needs a WebSocket, even if its messages are bytes. */
function needsSocket({ shape, takesBytes = false }: SnippetCall): boolean {
  return shape === "bidi_streaming" || (shape === "client_streaming" && !takesBytes);
}

function methodOf({ rest }: SnippetCall): string {
  return rest?.method ?? "POST";
}

/** What is sent as JSON; undefined for nothing. */
function bodyOf({ rest, body }: SnippetCall): unknown {
  return rest === undefined ? body : rest.body;
}

function sendsFile(call: SnippetCall): boolean {
  return call.rest === undefined && call.takesBytes === true && !needsSocket(call);
}

function urlOf({ origin, path, withToken, rest }: SnippetCall): string {
  if (rest !== undefined) return origin + rest.path;
  return origin + (withToken ? path : path.replace(/^\/v1/, ""));
}

function socketUrlOf(call: SnippetCall): string {
  return urlOf(call).replace(/^http/, "ws");
}

/** Headers in addition to the token's. */
function headersOf(call: SnippetCall): [name: string, value: string][] {
  const { withToken, namespace } = call;
  const own: [string, string][] = namespace === undefined || withToken ? [] : [["Platform-Namespace", namespace]];
  if (bodyOf(call) === undefined) return own;
  return [...own, ["Content-Type", sendsFile(call) ? "application/octet-stream" : "application/json"]];
}

/** Names of the file that is sent, and of the file to which the bytes of a response are written. */
const FILE = "file.bin";
const RESPONSE_FILE = "response.bin";

function curl(call: SnippetCall): string {
  const headers = headersOf(call).map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`);
  const token = call.withToken ? ['-H "Authorization: Bearer $PORTICO_TOKEN"'] : [];
  const start = call.shape === "server_streaming" ? "curl -N" : "curl";
  const data = sendsFile(call) ? [`-X POST -T ${FILE}`] : [...curlMethod(call), ...curlBody(call)];
  // Without --fail an error would be written to the file.
  const response = call.returnsBytes ? [`--fail-with-body -o ${RESPONSE_FILE}`] : [];
  return [`${start} ${shell(urlOf(call))}`, ...token, ...headers, ...data, ...response].join(" \\\n  ");
}

/** curl sends POST if there is a body, and otherwise GET. */
function curlMethod(call: SnippetCall): string[] {
  const method = methodOf(call);
  if (method === "HEAD") return ["-I"];
  return method === (bodyOf(call) === undefined ? "GET" : "POST") ? [] : [`-X ${method}`];
}

function curlBody(call: SnippetCall): string[] {
  const body = bodyOf(call);
  return body === undefined ? [] : [`-d ${shell(indented(body, 2))}`];
}

function node(call: SnippetCall): string {
  const used = [sendsFile(call) && "readFile", call.returnsBytes && "writeFile"].filter(Boolean).join(", ");
  const imports = used === "" ? "" : `import { ${used} } from "node:fs/promises";\n\n`;
  const body = sendsFile(call) ? `await readFile("${FILE}")` : jsonBody(call);
  const read = call.returnsBytes
    ? `if (!response.ok) throw new Error(await response.text());
await writeFile("${RESPONSE_FILE}", response.body);`
    : readJson(call);
  return `// Save as call.mjs and run: node call.mjs
${imports}${fetched(call, "process.env.PORTICO_TOKEN", body)}
${read}
`;
}

function browser(call: SnippetCall): string {
  const file = 'new Blob(["What is in the file"])';
  const read = call.returnsBytes ? "console.log(response.status, await response.blob());" : readJson(call);
  return `${browserStart(call)}${fetched(call, "token", sendsFile(call) ? file : jsonBody(call))}
${read}
`;
}

function jsonBody(call: SnippetCall): string | undefined {
  const body = bodyOf(call);
  return body === undefined ? undefined : `JSON.stringify(${indented(body, 2)})`;
}

function fetched(call: SnippetCall, token: string, body: string | undefined): string {
  const lines = headersOf(call).map(([name, value]) => `\n    ${quoted(name)}: ${quoted(value)},`);
  const authorization = call.withToken ? [`\n    Authorization: \`Bearer \${${token}}\`,`] : [];
  const headers = [...authorization, ...lines].join("");
  const options = [
    `method: ${quoted(methodOf(call))},`,
    ...(headers === "" ? [] : [`headers: {${headers}\n  },`]),
    ...(body === undefined ? [] : [`body: ${body},`]),
  ];
  return `const response = await fetch(${quoted(urlOf(call))}, {
  ${options.join("\n  ")}
});`;
}

function readJson(call: SnippetCall): string {
  const { shape } = call;
  if (methodOf(call) === "HEAD") return "console.log(response.status);";
  if (shape !== "server_streaming") return "console.log(response.status, await response.json());";
  return `let rest = "";
for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + text).split("\\n");
  rest = lines.pop();
  for (const line of lines) if (line !== "") console.log(JSON.parse(line));
}`;
}

/**
 * A comment that says where the code may run. A page has no environment variables, so it asks for
 * the token. A token in its source could be read by others.
 */
function browserStart({ origin, withToken }: SnippetCall): string {
  const where = `// In a page of ${origin}, or of an origin that PORTICO_CORS names.\n`;
  return withToken ? `${where}const token = prompt("A token, such as \`portico user token\` prints:");\n` : where;
}

function nodeSocket(call: SnippetCall): string {
  return `// Save as call.mjs and run: node call.mjs
// Node.js 22 and later have WebSocket. Node.js 20 has it with a flag:
// node --experimental-websocket call.mjs
${conversation(call, "process.env.PORTICO_TOKEN")}`;
}

function browserSocket(call: SnippetCall): string {
  return `${browserStart(call)}${conversation(call, "token")}`;
}

/**
 * Neither browsers nor Node.js can set headers on a WebSocket, so the token is offered as a
 * subprotocol.
 */
function conversation(call: SnippetCall, token: string): string {
  const protocols = call.withToken ? `, ["portico", \`bearer.\${${token}}\`]` : "";
  return `const socket = new WebSocket(${quoted(socketUrlOf(call))}${protocols});
socket.onopen = () => {
  socket.send(JSON.stringify(${indented(call.body, 2)}));
  socket.send(""); // No more messages.
};
socket.onmessage = ({ data }) => console.log(JSON.parse(data));
socket.onclose = ({ code, reason }) => code === 1000 || console.error(code, reason);
`;
}

function python(call: SnippetCall): string {
  const headers = headersOf(call).map(([name, value]) => `\n        ${quoted(name)}: ${quoted(value)},`);
  const token = call.withToken ? [`\n        "Authorization": f"Bearer {os.environ['PORTICO_TOKEN']}",`] : [];
  const data = sendsFile(call) ? `open("${FILE}", "rb")` : `json.dumps(${pythonLiteral(call.body, "    ")}).encode()`;
  const { read, module } = pythonRead(call);
  const modules = new Set([...(sendsFile(call) ? [] : ["json"]), ...(call.withToken ? ["os"] : []), ...module]);
  return `${[...modules, "urllib.request"]
    .sort()
    .map((name) => `import ${name}\n`)
    .join("")}
request = urllib.request.Request(
    ${quoted(urlOf(call))},
    data=${data},
    headers={${[...token, ...headers].join("")}
    },
    method="POST",
)
with urllib.request.urlopen(request) as response:
${read}
`;
}

function pythonRead({ shape, returnsBytes = false }: SnippetCall): {
  readonly read: string;
  readonly module: string[];
} {
  if (returnsBytes) {
    return {
      read: `    with open("${RESPONSE_FILE}", "wb") as file:\n        shutil.copyfileobj(response, file)`,
      module: ["shutil"],
    };
  }
  const lines = "    for line in response:\n        if line.strip():\n            print(json.loads(line))";
  return { read: shape === "server_streaming" ? lines : "    print(json.load(response))", module: ["json"] };
}

function go(call: SnippetCall): string {
  const text = indented(call.body, 0);
  const headers = headersOf(call).map(([name, value]) => `\n\trequest.Header.Set(${quoted(name)}, ${quoted(value)})`);
  const token = call.withToken ? ['\n\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("PORTICO_TOKEN"))'] : [];
  const body = sendsFile(call)
    ? `body, err := os.Open("${FILE}")${GO_FATAL}`
    : `body := strings.NewReader(${text.includes("`") ? quoted(text) : `\`${text}\``})`;
  const response = call.returnsBytes
    ? `if response.StatusCode != http.StatusOK {
		log.Fatal(response.Status)
	}
	answer, err := os.Create("${RESPONSE_FILE}")${GO_FATAL}
	defer answer.Close()
	`
    : "";
  return `package main

import (
	"io"
	"log"
	"net/http"
	"os"${sendsFile(call) ? "" : '\n\t"strings"'}
)

func main() {
	${body}
	request, err := http.NewRequest("POST", ${quoted(urlOf(call))}, body)${GO_FATAL}${[...token, ...headers].join("")}

	response, err := http.DefaultClient.Do(request)${GO_FATAL}
	defer response.Body.Close()
	${response}if _, err := io.Copy(${call.returnsBytes ? "answer" : "os.Stdout"}, response.Body); err != nil {
		log.Fatal(err)
	}
}
`;
}

const GO_FATAL = `
	if err != nil {
		log.Fatal(err)
	}`;

const DEFAULT_ORIGIN = "http://127.0.0.1:8080";

function portico(call: SnippetCall): string | undefined {
  // The command line calls in the namespace of the account that is logged in.
  if (call.namespace !== undefined && !call.withToken) return undefined;
  const [, , service = "", ...endpoint] = call.path.split("/");
  const url = call.origin === DEFAULT_ORIGIN ? "" : ` --url ${shell(call.origin)}`;
  const body = shell(JSON.stringify(call.body));
  const command = `portico call${url} ${shell(service)} ${shell(endpoint.join("/"))}`;
  const response = call.returnsBytes ? ` > ${RESPONSE_FILE}` : "";
  if (sendsFile(call)) return `${command} - < ${FILE}${response}`;
  return `${needsSocket(call) ? `echo ${body} | ${command}` : `${command} ${body}`}${response}`;
}

/** A word of a POSIX shell. */
function shell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * A string literal of JavaScript, Python and Go. JSON's escapes have the same meaning in all three.
 */
function quoted(text: string): string {
  return JSON.stringify(text);
}

const SHORT = 60;

/** A value as JSON, on several lines if it is long. */
function indented(value: unknown, indent: number): string {
  const short = JSON.stringify(value);
  if (short.length <= SHORT) return short;
  return JSON.stringify(value, null, 2).replaceAll("\n", `\n${" ".repeat(indent)}`);
}

function pythonLiteral(value: unknown, indent: string): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((item) => pythonLiteral(item, inner))
    : Object.entries(value).map(([key, member]) => `${quoted(key)}: ${pythonLiteral(member, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (JSON.stringify(value).length <= SHORT) return `${open}${items.join(", ")}${close}`;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}${close}`;
}
