/**
 * One call as code, in the languages that people call from, ready to run. A token is never part of it: each reads it
 * from PORTICO_TOKEN. test/console runs every one of them exactly as it is made here.
 */

export type Shape = "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";

export interface SnippetCall {
  /** Of the gateway, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** With a token, such as `/v1/helloworld/Call`. */
  readonly path: string;
  readonly shape: Shape;
  readonly withToken: boolean;
  /** The request, or where the client streams, its only message. */
  readonly body: unknown;
  /** Whether a stream may be sent as one body of any bytes, by plain POST: curl, Python, Go and portico send a file. */
  readonly takesBytes?: boolean | undefined;
  /** Where it is not the caller's own. Only without a token. */
  readonly namespace?: string | undefined;
}

export interface Snippet {
  readonly id: "curl" | "undici" | "browser" | "python" | "go" | "portico";
  readonly title: string;
  /** How a comment begins. */
  readonly comment: "#" | "//";
  readonly code: string;
}

/** All that can make the call. What streams from the client goes over a WebSocket, which some have no client for. */
export function snippetsFor(call: SnippetCall): Snippet[] {
  const clientStreams = call.shape === "client_streaming" || call.shape === "bidi_streaming";
  const plain = !clientStreams || sendsFile(call);
  const all: readonly (Omit<Snippet, "code"> & { readonly code: string | undefined })[] = [
    { id: "curl", title: "curl", comment: "#", code: plain ? curl(call) : undefined },
    { id: "undici", title: "Node.js", comment: "//", code: clientStreams ? undiciSocket(call) : undici(call) },
    { id: "browser", title: "Browser", comment: "//", code: clientStreams ? browserSocket(call) : browser(call) },
    { id: "python", title: "Python", comment: "#", code: plain ? python(call) : undefined },
    { id: "go", title: "Go", comment: "//", code: plain ? go(call) : undefined },
    { id: "portico", title: "portico", comment: "#", code: portico(call, clientStreams) },
  ];
  return all.flatMap(({ code, ...rest }) => (code === undefined ? [] : [{ ...rest, code }]));
}

function sendsFile({ shape, takesBytes = false }: SnippetCall): boolean {
  return shape === "client_streaming" && takesBytes;
}

function urlOf({ origin, path, withToken }: SnippetCall): string {
  return origin + (withToken ? path : path.replace(/^\/v1/, ""));
}

function socketUrlOf(call: SnippetCall): string {
  return urlOf(call).replace(/^http/, "ws");
}

/** Headers besides the token's. */
function headersOf(call: SnippetCall): [name: string, value: string][] {
  const { withToken, namespace } = call;
  const own: [string, string][] = namespace === undefined || withToken ? [] : [["Platform-Namespace", namespace]];
  return [...own, ["Content-Type", sendsFile(call) ? "application/octet-stream" : "application/json"]];
}

/** What is sent where any bytes will do. */
const FILE = "file.bin";

function curl(call: SnippetCall): string {
  const headers = headersOf(call).map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`);
  const token = call.withToken ? ['-H "Authorization: Bearer $PORTICO_TOKEN"'] : [];
  const start = call.shape === "server_streaming" ? "curl -N" : "curl";
  const data = sendsFile(call) ? `-X POST -T ${FILE}` : `-d ${shell(indented(call.body, 2))}`;
  return [`${start} ${shell(urlOf(call))}`, ...token, ...headers, data].join(" \\\n  ");
}

function undici(call: SnippetCall): string {
  const streams = call.shape === "server_streaming";
  const read = streams
    ? `for await (const line of createInterface({ input: body })) {
  if (line !== "") console.log(JSON.parse(line));
}`
    : "console.log(statusCode, await body.json());";
  return `${streams ? 'import { createInterface } from "node:readline";\n' : ""}import { request } from "undici";

const { ${streams ? "" : "statusCode, "}body } = await request(${quoted(urlOf(call))}, {
  method: "POST",
  headers: {${scriptHeaders(call, "process.env.PORTICO_TOKEN")}
  },
  body: JSON.stringify(${indented(call.body, 2)}),
});
${read}
`;
}

function browser(call: SnippetCall): string {
  const read =
    call.shape === "server_streaming"
      ? `let rest = "";
for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + text).split("\\n");
  rest = lines.pop();
  for (const line of lines) if (line !== "") console.log(JSON.parse(line));
}`
      : "console.log(response.status, await response.json());";
  return `${browserToken(call)}const response = await fetch(${quoted(urlOf(call))}, {
  method: "POST",
  headers: {${scriptHeaders(call, "PORTICO_TOKEN")}
  },
  body: JSON.stringify(${indented(call.body, 2)}),
});
${read}
`;
}

function browserToken({ withToken }: SnippetCall): string {
  return withToken ? "// PORTICO_TOKEN: the signed-in person's own, kept in a variable and nowhere else.\n" : "";
}

function scriptHeaders(call: SnippetCall, token: string): string {
  const lines = headersOf(call).map(([name, value]) => `\n    ${quoted(name)}: ${quoted(value)},`);
  const authorization = call.withToken ? [`\n    Authorization: \`Bearer \${${token}}\`,`] : [];
  return [...authorization, ...lines].join("");
}

function undiciSocket(call: SnippetCall): string {
  const headers = [
    ...(call.withToken ? [`Authorization: \`Bearer \${process.env.PORTICO_TOKEN}\``] : []),
    ...(call.namespace === undefined || call.withToken ? [] : [`"Platform-Namespace": ${quoted(call.namespace)}`]),
  ];
  const options = headers.length === 0 ? "" : `, { headers: { ${headers.join(", ")} } }`;
  return `import { WebSocket } from "undici";

const socket = new WebSocket(${quoted(socketUrlOf(call))}${options});
${conversation(call)}`;
}

function browserSocket(call: SnippetCall): string {
  const protocols = call.withToken ? `, ["portico", \`bearer.\${PORTICO_TOKEN}\`]` : "";
  return `${browserToken(call)}const socket = new WebSocket(${quoted(socketUrlOf(call))}${protocols});
${conversation(call)}`;
}

function conversation({ body }: SnippetCall): string {
  return `socket.onopen = () => {
  socket.send(JSON.stringify(${indented(body, 2)}));
  socket.send(""); // No more messages.
};
socket.onmessage = ({ data }) => console.log(JSON.parse(data));
socket.onclose = ({ code, reason }) => code === 1000 || console.error(code, reason);
`;
}

function python(call: SnippetCall): string {
  const headers = headersOf(call).map(([name, value]) => `\n        ${quoted(name)}: ${quoted(value)},`);
  const token = call.withToken ? [`\n        "Authorization": f"Bearer {os.environ['PORTICO_TOKEN']}",`] : [];
  const read =
    call.shape === "server_streaming"
      ? "    for line in response:\n        if line.strip():\n            print(json.loads(line))"
      : "    print(json.load(response))";
  const data = sendsFile(call) ? `open("${FILE}", "rb")` : `json.dumps(${pythonLiteral(call.body, "    ")}).encode()`;
  return `import json
${call.withToken ? "import os\n" : ""}import urllib.request

request = urllib.request.Request(
    ${quoted(urlOf(call))},
    data=${data},
    headers={${[...token, ...headers].join("")}
    },
)
with urllib.request.urlopen(request) as response:
${read}
`;
}

function go(call: SnippetCall): string {
  const text = indented(call.body, 0);
  const headers = headersOf(call).map(([name, value]) => `\n\trequest.Header.Set(${quoted(name)}, ${quoted(value)})`);
  const token = call.withToken ? ['\n\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("PORTICO_TOKEN"))'] : [];
  const file = `body, err := os.Open("${FILE}")
	if err != nil {
		log.Fatal(err)
	}`;
  const body = sendsFile(call)
    ? file
    : `body := strings.NewReader(${text.includes("`") ? quoted(text) : `\`${text}\``})`;
  return `package main

import (
	"io"
	"log"
	"net/http"
	"os"${sendsFile(call) ? "" : '\n\t"strings"'}
)

func main() {
	${body}
	request, err := http.NewRequest("POST", ${quoted(urlOf(call))}, body)
	if err != nil {
		log.Fatal(err)
	}${[...token, ...headers].join("")}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		log.Fatal(err)
	}
}
`;
}

const DEFAULT_ORIGIN = "http://127.0.0.1:8080";

function portico(call: SnippetCall, clientStreams: boolean): string | undefined {
  // The command line asks as the account that is logged in, whose namespace it knows.
  if (call.namespace !== undefined && !call.withToken) return undefined;
  const [, , service = "", ...endpoint] = call.path.split("/");
  const url = call.origin === DEFAULT_ORIGIN ? "" : ` --url ${shell(call.origin)}`;
  const body = shell(JSON.stringify(call.body));
  const command = `portico call${url} ${shell(service)} ${shell(endpoint.join("/"))}`;
  if (sendsFile(call)) return `${command} - < ${FILE}`;
  return clientStreams ? `echo ${body} | ${command}` : `${command} ${body}`;
}

/** A word of a POSIX shell. */
function shell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A string of JavaScript, Python and Go: JSON's escapes mean the same in all of them. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

const SHORT = 60;

/** A value as JSON, over several lines where it is long. */
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
