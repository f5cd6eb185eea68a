/**
 * The web pages: one HTML document at every address of theirs, which draws the page that its address names, and the
 * hashed files that it loads. All of it is read and was compressed before the first request.
 *
 * The pages hold a caller's token, so nothing that is not ours may run in them: no script but our files, no inline one,
 * no other origin, no frame around them (https://www.w3.org/TR/CSP3/).
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { listOf } from "../request-headers.js";
import type { OwnAnswer, OwnPaths } from "./own.js";

const ASSETS = "/console/assets/";

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // Text can then not become markup or code by mistake either.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const DOCUMENT_HEADERS: readonly string[] = [
  ...["Content-Security-Policy", CONTENT_SECURITY_POLICY],
  ...["Referrer-Policy", "no-referrer"],
  ...["Cross-Origin-Opener-Policy", "same-origin"],
  ...["Cross-Origin-Resource-Policy", "same-origin"],
];

/** A file's name has the hash of what is in it, so it never changes. */
const FOREVER: readonly string[] = ["Cache-Control", "public, max-age=31536000, immutable"];

const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
]);

/** The codings that each file was compressed with, best first. */
const CODINGS = [
  { name: "br", extension: ".br" },
  { name: "gzip", extension: ".gz" },
] as const;

interface File {
  readonly contentType: string;
  readonly plain: Buffer;
  readonly compressed: readonly { readonly coding: string; readonly bytes: Buffer }[];
}

export interface PagesOptions {
  /** Where scripts/build-web.mjs put them: `dist/console`. */
  readonly folder: string;
}

export class Pages implements OwnPaths {
  readonly #document: File;
  readonly #etag: string;
  readonly #assets: ReadonlyMap<string, File>;
  /** For each part of the pages, `explore` or `console`, a header that has the browser fetch its files at once. */
  readonly #preload: ReadonlyMap<string, readonly string[]>;

  /** @throws {Error} when the folder lacks what the build puts there. */
  constructor({ folder }: PagesOptions) {
    this.#document = readFile(join(folder, "index.html"));
    this.#etag = createHash("sha256").update(this.#document.plain).digest("base64url").slice(0, 16);
    const names = readdirSync(join(folder, "assets")).filter((name) => CONTENT_TYPES.has(extname(name)));
    this.#assets = new Map(names.map((name) => [ASSETS + name, readFile(join(folder, "assets", name))]));
    this.#preload = preloads(JSON.parse(readFileSync(join(folder, "files.json"), "utf8")));
  }

  answer(path: string, headers: readonly string[]): OwnAnswer | undefined {
    if (path === "/") return { status: 302, body: "", headers: ["Location", "/explore", ...DOCUMENT_HEADERS] };
    const asset = this.#assets.get(path);
    if (asset !== undefined) return answerFile(asset, headers, FOREVER);
    if (path.startsWith(ASSETS)) return undefined;
    const part = /^\/(explore|console)(?=\/|$)/.exec(path)?.[1];
    return part === undefined ? undefined : this.#answerDocument(part, headers);
  }

  #answerDocument(part: string, headers: readonly string[]): OwnAnswer {
    // Weak, since it stands for what the document says and not for its bytes, which differ with the coding.
    const etag = `W/"${this.#etag}"`;
    const own = [...DOCUMENT_HEADERS, ...(this.#preload.get(part) ?? []), "ETag", etag, "Cache-Control", "no-cache"];
    if (matches(listOf(headers, "if-none-match"), etag)) return { status: 304, body: "", headers: [...own, ...VARY] };
    return answerFile(this.#document, headers, own);
  }
}

function readFile(path: string): File {
  return {
    contentType: CONTENT_TYPES.get(extname(path)) as string,
    plain: readFileSync(path),
    compressed: CODINGS.map(({ name, extension }) => ({ coding: name, bytes: readFileSync(path + extension) })),
  };
}

function preloads(files: Readonly<Record<string, readonly string[]>>): Map<string, readonly string[]> {
  const link = (names: readonly string[]) => names.map((name) => `<${name}>; rel=modulepreload`).join(", ");
  return new Map(Object.entries(files).map(([part, names]) => [part, ["Link", link(names)]]));
}

const VARY: readonly string[] = ["Vary", "Accept-Encoding"];

function answerFile(
  { contentType, plain, compressed }: File,
  headers: readonly string[],
  own: readonly string[],
): OwnAnswer {
  const coding = codingFor(headers);
  const bytes = compressed.find((file) => file.coding === coding)?.bytes;
  const encoding = bytes === undefined ? [] : ["Content-Encoding", coding as string];
  return { status: 200, body: bytes ?? plain, contentType, headers: [...own, ...VARY, ...encoding] };
}

/** The best coding that the client takes (RFC 9110 §12.5.3); undefined for none. */
function codingFor(headers: readonly string[]): string | undefined {
  const accepted = new Map<string, number>();
  for (const item of listOf(headers, "accept-encoding").toLowerCase().split(",")) {
    const [, name, weight = "1"] = /^[ \t]*([^;\s]+)[ \t]*(?:;[ \t]*q=([\d.]+))?[ \t]*$/.exec(item) ?? [];
    if (name !== undefined) accepted.set(name, Number(weight));
  }
  return CODINGS.find(({ name }) => (accepted.get(name) ?? accepted.get("*") ?? 0) > 0)?.name;
}

/** RFC 9110 §13.1.2: by weak comparison. */
function matches(ifNoneMatch: string, etag: string): boolean {
  const opaque = etag.replace("W/", "");
  return ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((tag) => tag.trim().replace("W/", "") === opaque);
}
