/**
 * The web pages. The same HTML document is served at each of their paths, and draws the page that
 * the path names. The files that it loads have the hash of their content in their names. The build
 * compresses all files, and they are read before the first request.
 *
 * The pages hold a caller's token, so only Portico's own code may run in them: no inline script, no
 * script of another origin, and no frame around them (https://www.w3.org/TR/CSP3/).
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { type Coding, preferredCoding } from "../http/content-coding.js";
import { listOf } from "../http/headers.js";
import type { BareResponse, BuiltInRoutes, GatewayRequestHead } from "../http/message.js";

const ASSETS = "/console/assets/";

/** Browsers ask for it where a document names no icon, such as one of /openapi. */
export const ICON_PATH = "/favicon.ico";
/** The font, for a page that the build does not make, such as the one of consent. */
export const FONT_PATH = `${ASSETS}public-sans.woff2`;

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  // Images and recordings in a response have addresses that only the page makes.
  "img-src 'self' blob:",
  "media-src blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // These two prevent text from becoming markup or code by mistake.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const DOCUMENT_HEADERS: readonly string[] = [
  ...["Content-Security-Policy", CONTENT_SECURITY_POLICY],
  ...["Referrer-Policy", "no-referrer"],
  ...["Cross-Origin-Opener-Policy", "same-origin"],
  ...["Cross-Origin-Resource-Policy", "same-origin"],
];

/** The name of a file contains the hash of its content, so the file never changes. */
const FOREVER: readonly string[] = ["Cache-Control", "public, max-age=31536000, immutable"];

/** The paths of the icon and the font have no hash. */
const FOR_A_DAY: readonly string[] = ["Cache-Control", "public, max-age=86400"];

const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
  [".woff2", "font/woff2"],
  [".txt", "text/plain; charset=utf-8"],
]);

/**
 * The content codings of each file, the best first, with the extension of the compressed file that
 * the build makes.
 */
const EXTENSIONS = new Map<Coding, string>([
  ["br", ".br"],
  ["gzip", ".gz"],
]);
const CODINGS = [...EXTENSIONS.keys()];

interface File {
  readonly contentType: string;
  readonly plain: Buffer;
  readonly compressed: ReadonlyMap<Coding, Buffer>;
}

export interface PagesOptions {
  /** The folder into which scripts/build-web.mjs puts the files: `dist/console`. */
  readonly folder: string;
}

export class Pages implements BuiltInRoutes {
  readonly roots: BuiltInRoutes["roots"] = ["/", ICON_PATH, "/explore", "/connect", "/console"];
  readonly #document: File;
  readonly #etag: string;
  readonly #assets: ReadonlyMap<string, File>;
  readonly #withoutHash: ReadonlyMap<string, File>;
  /** For each part, such as `explore`, a header that makes the browser fetch its files at once. */
  readonly #preload: ReadonlyMap<string, readonly string[]>;

  /** @throws {Error} when the folder lacks a file that the build puts there */
  constructor({ folder }: PagesOptions) {
    this.#document = readFile(join(folder, "index.html"));
    this.#etag = createHash("sha256").update(this.#document.plain).digest("base64url").slice(0, 16);
    const names = readdirSync(join(folder, "assets")).filter((name) => CONTENT_TYPES.has(extname(name)));
    this.#assets = new Map(names.map((name) => [ASSETS + name, readFile(join(folder, "assets", name))]));
    const named = (pattern: RegExp) => this.#assets.get(`${ASSETS}${names.find((name) => pattern.test(name))}`) as File;
    this.#withoutHash = new Map([
      [ICON_PATH, named(/^icon-/)],
      [FONT_PATH, named(/^public-sans-.*\.woff2$/)],
    ]);
    this.#preload = preloads(JSON.parse(readFileSync(join(folder, "files.json"), "utf8")));
  }

  reply(path: string, { rawHeaders }: GatewayRequestHead): BareResponse | undefined {
    if (path === "/") return this.#rootReply(rawHeaders);
    const withoutHash = this.#withoutHash.get(path);
    if (withoutHash !== undefined) return fileReply(withoutHash, rawHeaders, FOR_A_DAY);
    const asset = this.#assets.get(path);
    if (asset !== undefined) return fileReply(asset, rawHeaders, FOREVER);
    if (path.startsWith(ASSETS)) return undefined;
    const part = /^\/(explore|connect|console)(?=\/|$)/.exec(path)?.[1];
    return part === undefined ? undefined : this.#documentReply(part, rawHeaders);
  }

  notFoundPage({ method, rawHeaders }: GatewayRequestHead): BareResponse | undefined {
    if ((method !== "GET" && method !== "HEAD") || !isNavigation(rawHeaders)) return undefined;
    return {
      ...fileReply(this.#document, rawHeaders, [...DOCUMENT_HEADERS, "Cache-Control", "no-store"]),
      status: 404,
    };
  }

  /** The first page for a browser that navigates. Every other client is sent to the catalogue. */
  #rootReply(rawHeaders: readonly string[]): BareResponse {
    const reply = isNavigation(rawHeaders)
      ? this.#documentReply("first", rawHeaders)
      : { status: 302, body: "", headers: ["Location", "/explore", ...DOCUMENT_HEADERS] };
    return { ...reply, headers: [...(reply.headers ?? []), "Vary", "Accept, Sec-Fetch-Mode"] };
  }

  #documentReply(part: string, rawHeaders: readonly string[]): BareResponse {
    // The tag is weak, because the bytes depend on the content coding, but the document does not.
    const etag = `W/"${this.#etag}"`;
    const own = [...DOCUMENT_HEADERS, ...(this.#preload.get(part) ?? []), "ETag", etag, "Cache-Control", "no-cache"];
    if (matches(listOf(rawHeaders, "if-none-match"), etag))
      return { status: 304, body: "", headers: [...own, ...VARY] };
    return fileReply(this.#document, rawHeaders, own);
  }
}

/** A font has no compressed files, because it is compressed already. */
function readFile(path: string): File {
  const codings = extname(path) === ".woff2" ? [] : [...EXTENSIONS];
  return {
    contentType: CONTENT_TYPES.get(extname(path)) as string,
    plain: readFileSync(path),
    compressed: new Map(codings.map(([coding, extension]) => [coding, readFileSync(path + extension)])),
  };
}

function preloads(files: Readonly<Record<string, readonly string[]>>): Map<string, readonly string[]> {
  const link = (names: readonly string[]) => names.map((name) => `<${name}>; rel=modulepreload`).join(", ");
  return new Map(Object.entries(files).map(([part, names]) => [part, ["Link", link(names)]]));
}

const VARY: readonly string[] = ["Vary", "Accept-Encoding"];

function fileReply(
  { contentType, plain, compressed }: File,
  rawHeaders: readonly string[],
  own: readonly string[],
): BareResponse {
  const coding = preferredCoding(listOf(rawHeaders, "accept-encoding"), CODINGS);
  const body = coding && compressed.get(coding);
  const encoding = coding === undefined || body === undefined ? [] : ["Content-Encoding", coding];
  return {
    status: 200,
    body: body ?? plain,
    contentType,
    headers: [...own, ...VARY, ...encoding],
  };
}

/**
 * Whether a browser is to show the response as a page: it asks for HTML by name, and does not ask
 * for a script (https://www.w3.org/TR/fetch-metadata/#sec-fetch-mode-header).
 */
function isNavigation(rawHeaders: readonly string[]): boolean {
  const mode = listOf(rawHeaders, "sec-fetch-mode");
  if (mode !== "" && mode !== "navigate") return false;
  return listOf(rawHeaders, "accept")
    .split(",")
    .some((range) => {
      const [type, ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
      return type === "text/html" && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    });
}

/** Whether an If-None-Match names the entity tag, by weak comparison (RFC 9110 §13.1.2). */
function matches(ifNoneMatch: string, etag: string): boolean {
  const opaque = etag.replace("W/", "");
  return ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((tag) => tag.trim().replace("W/", "") === opaque);
}
