/** The addresses where a process listens or can be reached, and their text forms. */

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The address of an HTTP port: a TCP port, or the path of a Unix socket. */
export type HttpAddress = Address | { readonly path: string };

/** The address of a gRPC server: a port, with TLS or without, or the path of a unix socket. */
export type GrpcTarget = (Address & { readonly tls?: true }) | { readonly path: string };

/** `127.0.0.1:8080` or `[::1]:8080`. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** @throws {SyntaxError} with the accepted form */
export function parseAddress(text: string): Address {
  const address = readAddress(text);
  if (address === undefined) throw new SyntaxError("must be host:port, such as 127.0.0.1:8080 (port 0: any free one)");
  return address;
}

function readAddress(text: string): Address | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65535 ? undefined : { host, port };
}

/**
 * Reads `host:port` or `unix:/path`.
 * @throws {SyntaxError} with the accepted forms
 */
export function parseHttpAddress(text: string): HttpAddress {
  if (isUnixSocket(text)) return { path: readSocketPath(text) };
  const address = readAddress(text);
  if (address !== undefined) return address;
  throw new SyntaxError("must be host:port, such as 127.0.0.1:8080 (port 0: any free one), or unix:/path");
}

/** The form that `parseHttpAddress` reads. */
export function formatHttpAddress(address: HttpAddress): string {
  return formatGrpcTarget(address);
}

/** The form that `parseGrpcTarget` reads. */
export function formatGrpcTarget(target: GrpcTarget): string {
  if ("path" in target) return `${UNIX}${target.path}`;
  return `${target.tls ? TLS : ""}${formatAddress(target)}`;
}

/**
 * Reads `host:port` (plain text), `grpcs://host:port` (TLS, as in nginx's grpc_pass) or
 * `unix:/path` (gRPC, doc/naming.md).
 * @throws {SyntaxError} with the accepted forms
 */
export function parseGrpcTarget(text: string): GrpcTarget {
  if (isUnixSocket(text)) return { path: readSocketPath(text) };
  const tls = text.startsWith(TLS);
  const address = readAddress(tls ? text.slice(TLS.length) : text);
  if (address === undefined) throw new SyntaxError("must be host:port, grpcs://host:port (with TLS) or unix:/path");
  return tls ? { ...address, tls } : address;
}

function readSocketPath(text: string): string {
  const path = SOCKET_PATH.exec(text)?.[1];
  if (path !== undefined && path.length <= MAX_SOCKET_PATH) return path;
  throw new SyntaxError(`must be unix: and an absolute path, of ${MAX_SOCKET_PATH} ASCII characters at most`);
}

/**
 * Reads several targets, separated by commas.
 * @throws {SyntaxError} if a target is malformed: names it, and the accepted forms; also if a
 * target occurs twice
 */
export function parseGrpcTargets(text: string): readonly GrpcTarget[] {
  const parts = text.split(",").map((part) => part.trim());
  const targets = parts.map((part) => {
    try {
      return parseGrpcTarget(part);
    } catch (error) {
      const which = parts.length === 1 ? "" : ` (not ${JSON.stringify(part)})`;
      throw new SyntaxError(`${(error as Error).message}${which}`);
    }
  });
  const twice = targets.map(formatGrpcTarget).find((target, index, all) => all.indexOf(target) !== index);
  if (twice !== undefined) throw new SyntaxError(`names ${twice} twice; each authority has an address of its own`);
  return targets;
}

/** Whether a target is a unix socket. */
export function isUnixSocket(text: string): boolean {
  return text.startsWith(UNIX);
}

const TLS = "grpcs://";
const UNIX = "unix:";
const SOCKET_PATH = /^unix:(?:\/\/(?=\/))?(\/(?!\/)[!-~]+)$/;
/** The maximum of Linux (unix(7)), or of macOS and the BSDs (unix(4)), without the last NUL. */
const MAX_SOCKET_PATH = process.platform === "linux" ? 107 : 103;
