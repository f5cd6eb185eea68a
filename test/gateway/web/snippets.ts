/** Runs snippets exactly as they are made. Their effect is checked by what the service received. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { text as printed } from "node:stream/consumers";
import type { Test } from "tap";
import { type Shape, snippetsFor } from "../../../gateway/web/explore/snippets.js";
import { call } from "../../support/process.js";
import { ADMIN_PASSWORD, type ShopFront } from "./shop-front.js";

/**
 * A text that is hard to quote: quotes of every language, escapes, line breaks, and syntax of other
 * languages.
 */
const HARD = `it's "so" \`here\` $HOME \${x} \\n %s {y}\n#{z} é 😀 </script>`;

interface SnippetCase {
  readonly title: string;
  readonly endpoint: string;
  readonly shape: Shape;
  readonly body: object;
  readonly takesBytes?: boolean;
  readonly returnsBytes?: boolean;
  /** What the service receives; default: the body. */
  readonly received?: object;
  /** What the snippet prints, or writes to a file. */
  readonly printed: RegExp;
}

const FILE_TEXT = "What is in the file";

/** A field of every kind. */
const ALL_KINDS = {
  customer: "Ada",
  number: "9007199254740993",
  gift: true,
  tip: -1.5e-7,
  items: [
    { name: "tea", count: 2 },
    { name: "it's", count: 1 },
  ],
  notes: { "a 'key'": '"value"' },
  tags: ["a", "b"],
};

export const CASES: readonly SnippetCase[] = [
  { title: "a short request", endpoint: "Call", shape: "unary", body: { customer: "Ada" }, printed: /Ada/ },
  {
    title: "text that is hard to quote",
    endpoint: "Call",
    shape: "unary",
    body: { customer: HARD },
    printed: /it.?'s/,
  },
  {
    title: "every kind of value",
    endpoint: "Call",
    shape: "unary",
    body: { ...ALL_KINDS, placed: null },
    received: ALL_KINDS,
    printed: /9007199254740993/,
  },
  {
    title: "a stream",
    endpoint: "Watch",
    shape: "server_streaming",
    body: { every: 1, most: 3 },
    printed: /1\D+2\D+3/,
  },
  {
    title: "a client stream",
    endpoint: "Fill",
    shape: "client_streaming",
    body: { name: "tea", count: 2 },
    printed: /count\W+2/,
  },
  {
    title: "a two-way stream",
    endpoint: "Haggle",
    shape: "bidi_streaming",
    body: { name: "tea", count: 2 },
    printed: /count\W+2/,
  },
  {
    title: "a stream of bytes, as a file",
    endpoint: "Store",
    shape: "client_streaming",
    takesBytes: true,

    body: { contentType: "text/plain", data: Buffer.from(FILE_TEXT).toString("base64") },
    received: { text: FILE_TEXT },
    printed: new RegExp(`count\\W+${FILE_TEXT.length}`),
  },
  {
    title: "bytes, as a file",
    endpoint: "Weigh",
    shape: "unary",
    takesBytes: true,
    body: {},
    received: { text: FILE_TEXT },
    printed: new RegExp(`count\\W+${FILE_TEXT.length}`),
  },
  {
    title: "a response of bytes",
    endpoint: "Print",
    shape: "unary",
    returnsBytes: true,
    body: { customer: "Ada" },
    printed: /Order of Ada/,
  },
];

/** Runs a text. Returns its output, without error output and progress. Rejects when it fails. */
export type Run = (text: string, token: string | undefined) => Promise<string>;

type SnippetId = ReturnType<typeof snippetsFor>[number]["id"];

/**
 * Every case in one language with a token. Cases that differ without a token run also without one.
 */
export async function checkSnippets(t: Test, { origin, shop }: ShopFront, id: SnippetId, run: Run): Promise<void> {
  const { body: tokens } = await call(`${origin}/auth/login`, { account: "admin", password: ADMIN_PASSWORD });
  const { accessToken: token } = tokens as { accessToken: string };
  const seen = new Set<Shape>();
  for (const { title, endpoint, shape, body, takesBytes, returnsBytes, received = body, printed } of CASES) {
    for (const withToken of seen.has(shape) ? [true] : [true, false]) {
      const path = `/v1/shop/${endpoint}`;
      const made = snippetsFor({ origin, path, shape, withToken, body, takesBytes, returnsBytes });
      const snippet = made.find((one) => one.id === id);
      if (snippet === undefined) continue;
      await t.test(`${title}, ${withToken ? "with a token" : "without a token"}`, async (t) => {
        t.notMatch(snippet.code, token, "the token is never in it");
        shop.received.length = 0;
        t.match(await run(snippet.code, withToken ? token : undefined), printed);
        t.strictSame(JSON.parse(JSON.stringify(shop.received)), [received]);
      });
    }
    seen.add(shape);
  }
  await checkNamespace(t, { origin, shop, token }, id, run);
}

/** Runs a snippet that names a namespace. The function creates a namespace for it. */
async function checkNamespace(
  t: Test,
  { origin, shop, token }: Pick<ShopFront, "origin" | "shop"> & { readonly token: string },
  id: SnippetId,
  run: Run,
): Promise<void> {
  const namespace = `of-${id}`;
  const made = { origin, path: "/v1/shop/Call", shape: "unary", withToken: false, body: { customer: "Ada" } } as const;
  const snippet = snippetsFor({ ...made, namespace }).find((one) => one.id === id);
  if (snippet === undefined) return;
  await grantEveryone(origin, namespace, token);
  await t.test("without a token, in another namespace", async (t) => {
    t.match(await run(snippet.code, undefined), /Ada/);
    t.equal(shop.namespace(), namespace);
  });
}

async function grantEveryone(origin: string, namespace: string, token: string): Promise<void> {
  const asAdmin = { authorization: `Bearer ${token}` };
  const made = await call(`${origin}/v1/auth/Namespaces/Create`, { name: namespace }, asAdmin);
  const { adminPassword: password } = made.body as { adminPassword: string };
  const login = await call(`${origin}/auth/login`, { account: "admin", password, namespace });
  const authorization = `Bearer ${(login.body as { accessToken: string }).accessToken}`;
  const rule = { id: "everyone", scope: "<public>", access: "GRANTED", resource: "service:shop:*" };
  const { status } = await call(`${origin}/v1/auth/Rules/Create`, { rule }, { authorization });
  if (status !== 200) throw new Error(`the rule was refused with ${status}`);
}

/**
 * Writes the text to a file of an empty folder that finds no packages in a parent folder. Runs a
 * command there, with the token in PORTICO_TOKEN, and with `portico` on the path.
 */
export function program(command: readonly [string, ...string[]], file: string, { folder }: ShopFront): Run {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "portico"), `#!/bin/sh\nexec '${process.execPath}' '${resolve("dist/portico.js")}' "$@"\n`);
  chmodSync(join(bin, "portico"), 0o755);
  return async (text, token) => {
    const cwd = mkdtempSync(join(tmpdir(), "snippet-"));
    const path = join(cwd, file);
    writeFileSync(path, text);
    writeFileSync(join(cwd, "file.bin"), FILE_TEXT);
    // On a terminal, these variables could force colours into the output.
    const { PORTICO_TOKEN: _, FORCE_COLOR: __, ...inherited } = process.env;
    const paths = { PATH: `${bin}${delimiter}${inherited.PATH}`, XDG_CONFIG_HOME: join(folder, "config") };
    const given = token === undefined ? {} : { PORTICO_TOKEN: token };
    const [name, ...args] = command;
    const child = spawn(name, [...args, path], { cwd, env: { ...inherited, ...paths, ...given }, timeout: 180_000 });
    const output = printed(child.stdout);
    const complaints = printed(child.stderr);
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`${name} ended with ${code}: ${await complaints}\n${text}`);
    const response = join(cwd, "response.bin");
    const written = existsSync(response) ? readFileSync(response, "utf8") : "";
    rmSync(cwd, { recursive: true });
    return (await output) + written;
  };
}
