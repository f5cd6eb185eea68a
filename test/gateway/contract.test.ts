// The HTTP contract, row by row: against the handler as a function, and as bytes over a socket.
// However a path is written, the endpoint that the guard decides on is the endpoint that is called.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { reason } from "../../gateway/http/errors.js";
import { createToken } from "../../src/call/token.js";
import type { HttpCase } from "../cases/http/case.js";
import { groups } from "../cases/http/groups.js";
import { type Answer, ask, type Deployment, deploy, login, post } from "./deployment.js";

const dataFolder = t.testdir();
const deployment = await deploy(dataFolder, {
  flags: { maxBody: "4KiB", headerTime: "200ms", bodyTime: "200ms", callTime: "5s", cors: "https://example.com" },
});
t.teardown(() => deployment.close());
const tokens = await prepare(deployment);

for (const [group, rows] of Object.entries(groups)) {
  t.test(group, async (t) => {
    for (const row of rows) {
      if (row.raw === undefined) await check(t, row, "as a function", () => askFunction(row));
      await check(t, row, "over a socket", () => askSocket(row));
    }
  });
}

/** Creates the accounts and rules that test/cases/http/case.ts describes. */
async function prepare({ handler }: Deployment): Promise<Record<string, string>> {
  const admin = await login(handler, "admin");
  const password = "a password for tests";
  await post(handler, "/v1/auth/Accounts/Create", { name: "ada", password, scopes: ["staff"] }, admin);
  const rules = [
    { id: "closed", scope: "<public>", access: "DENIED", resource: "service:probe:closed.*", priority: 10 },
    { id: "members", scope: "<public>", access: "DENIED", resource: "service:probe:members.*", priority: 10 },
    { id: "staff", scope: "staff", access: "GRANTED", resource: "service:probe:members.*", priority: 20 },
  ];
  for (const rule of rules) await post(handler, "/v1/auth/Rules/Create", { rule }, admin);
  const { adminPassword } = await post(handler, "/v1/auth/Namespaces/Create", { name: "empty" }, admin);
  return {
    ada: await login(handler, "ada", password),
    empty: await login(handler, "admin", String(adminPassword), "empty"),
    stranger: createToken("access"),
    gateway: readFileSync(join(dataFolder, "enrolment", "gateway"), "utf8").trim(),
  };
}

function filled(text: string): string {
  return text.replace(/\{(ada|empty|stranger|gateway)\}/g, (_, name: string) => tokens[name] as string);
}

function headersOf({ headers = [], body }: HttpCase): string[] {
  const typed = body === undefined || headers.some(([name]) => name.toLowerCase() === "content-type");
  return [...headers.flat().map(filled), ...(typed ? [] : ["Content-Type", "application/json"])];
}

function askFunction(row: HttpCase): Promise<Answer> {
  const { method = "GET", target = "", body } = row;
  return ask(deployment.handler, { method, target: filled(target), headers: headersOf(row), body });
}

function bytesOf(row: HttpCase): Buffer {
  if (row.raw !== undefined) return Buffer.from(row.raw, "latin1");
  const { method = "GET", target = "", body } = row;
  const lines = [`${method} ${filled(target)} HTTP/1.1`, "Host: portico.test", "Connection: close"];
  const headers = headersOf(row);
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  if (body !== undefined) lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

async function askSocket(row: HttpCase): Promise<Answer> {
  const socket = connect(deployment.gateway.address.port, "127.0.0.1");
  socket.setEncoding("utf8");
  let response = "";
  socket.on("data", (text) => {
    response = (response + text).replace("HTTP/1.1 100 Continue\r\n\r\n", "");
    // Clients also close after a response that closes the connection.
    if (response.includes("Connection: close") && response.endsWith("}")) socket.end();
  });
  socket.write(bytesOf(row));
  await once(socket, "close");
  const [head = "", ...rest] = response.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line) => line.split(/: (.*)/s, 2) as [string, string]);
  const body = rest.join("\r\n\r\n");
  return {
    status: Number(statusLine.split(" ")[1]),
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    body,
  };
}

async function check(t: Test, row: HttpCase, way: string, run: () => Promise<Answer>): Promise<void> {
  const { decided, dispatched } = deployment;
  decided.length = dispatched.length = 0;
  const response = await run();
  // A request with a body is decided before and after the body, on the same resource.
  const seen = { ...seenIn(row, response), decided: [...new Set(decided)], dispatched: [...dispatched] };
  t.same(
    seen,
    { ...wanted(row), decided: [row.calls ?? row.decides].filter(Boolean), dispatched: called(row) },
    `${row.title}: ${row.status}, ${way}`,
  );
}

/**
 * The calls that a row makes. A rejected request makes none. The service `gone` is not in this
 * process.
 */
function called({ calls }: HttpCase): string[] {
  return calls === undefined || calls.startsWith("service:gone:") ? [] : [calls];
}

function wanted(row: HttpCase): Record<string, unknown> {
  const { status, has = {}, method, response, exactly } = row;
  const directed = (row.calls ?? row.decides)?.split(":")[1];
  const error = {
    Id: row.id ?? directed ?? "gateway",
    Code: status,
    Detail: row.detail ?? SOMETHING,
    Status: reason(status),
  };
  const detailed = response === undefined ? error : { ...error, Details: response };
  const success = JSON.parse(filled(JSON.stringify(response ?? {})));
  const bodiless = method === "HEAD" || status === 204;
  return {
    status,
    headers: { "x-request-id": REQUEST_ID, ...has },
    body: bodiless ? undefined : status < 300 ? success : detailed,
    length: bodiless ? undefined : "right",
    exactly,
  };
}

/**
 * The same fields of a response. Where a pattern is wanted and matches, the result contains the
 * pattern.
 */
function seenIn(row: HttpCase, { status, headers, body }: Answer): Record<string, unknown> {
  const { has = {}, method, response = {}, exactly } = row;
  const names = Object.entries({ "x-request-id": REQUEST_ID, ...has });
  const seen = {
    status,
    headers: Object.fromEntries(names.map(([name, want]) => [name, fitting(headers[name], want)])),
    exactly: exactly && body,
  };
  if (method === "HEAD" || status === 204) return { ...seen, body: undefined, length: undefined };
  const length = Number(headers["content-length"]) === Buffer.byteLength(body) ? "right" : body;
  const parsed = JSON.parse(body);
  if (status >= 300)
    return { ...seen, length, body: { ...parsed, Detail: fitting(parsed.Detail, row.detail ?? SOMETHING) } };
  return {
    ...seen,
    length,
    body: Object.fromEntries(Object.keys(response as object).map((name) => [name, parsed[name]])),
  };
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const SOMETHING = /./;

function fitting(value: string | undefined, want: string | RegExp | undefined): unknown {
  return want instanceof RegExp && value !== undefined && want.test(value) ? want : value;
}
