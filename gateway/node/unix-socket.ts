/**
 * Listens on a Unix socket. Its file has the mode 0660: the user and the group of this process can
 * connect. A file that a dead process has left is replaced. One that a process accepts connections
 * on is not, nor is a file that is no socket. A server that closes removes only its own file.
 */
import { lstatSync, renameSync, type Stats, statSync, unlinkSync } from "node:fs";
import { connect, type Server } from "node:net";
import { dirname } from "node:path";

/** Files are created with 0666 or 0777 without these bits: sockets with 0660. */
export const SOCKET_UMASK = 0o117;

/** How long a process may take to accept a connection, in milliseconds. It counts as alive then. */
const CONNECT_MS = 1_000;

/** The file of a socket that nobody listens on. */
export interface DeadSocket {
  readonly path: string;
  /** When it was created. */
  readonly since: number;
}

/**
 * Finds out whether a server can listen at a path.
 * @returns the dead socket that is there, if there is one
 * @throws {Error} with the reason why none can listen
 */
export async function findDeadSocket(path: string): Promise<DeadSocket | undefined> {
  const found = fileAt(path);
  if (found === undefined) {
    const folder = dirname(path);
    if (fileAt(folder) === undefined) throw new Error(`there is no folder ${folder}`);
    return undefined;
  }
  if (!found.isSocket()) throw new Error("there is a file that is no socket");
  const code = await connectTo(path);
  if (code === "ECONNREFUSED") return { path, since: found.ctimeMs };
  if (code === "ENOENT") return undefined;
  if (code === "EACCES") throw new Error("this user may not connect to the socket that is there, so it may be in use");
  throw new Error("EADDRINUSE: a process listens on the socket");
}

/** Removes a dead socket, unless another file has taken its place. */
export function removeDeadSocket(dead: DeadSocket | undefined): void {
  if (dead !== undefined && fileAt(dead.path)?.ctimeMs === dead.since) unlinkSync(dead.path);
}

/**
 * Listens at the path.
 * @returns closes the server and removes its file, once the server listens
 */
export async function listenAtPath(server: Server, path: string, backlog: number): Promise<() => void> {
  const dead = await findDeadSocket(path);
  // From here to the new socket nothing waits, so that another process hardly comes in between.
  // Node creates the file during the call.
  removeDeadSocket(dead);
  const before = process.umask(SOCKET_UMASK);
  try {
    server.listen({ path, backlog });
  } finally {
    process.umask(before);
  }
  const own = fileAt(path);
  return () => closeAtPath(server, path, own);
}

/**
 * Node removes any file at the path when a server closes. Another server's file is there if this
 * server's was removed by hand. It has another name meanwhile.
 */
function closeAtPath(server: Server, path: string, own: Stats | undefined): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  const isOther = found !== undefined && own !== undefined && fileAt(path)?.ino !== own.ino;
  const kept = `${path}.kept`;
  if (isOther) renameSync(path, kept);
  server.close();
  if (isOther) renameSync(kept, path);
}

function fileAt(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false }) && statSync(path, { throwIfNoEntry: false });
}

/** @returns the code of the error; undefined if the connection was accepted, or would be */
function connectTo(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (code?: string): void => {
      socket.destroy();
      resolve(code);
    };
    socket.setTimeout(CONNECT_MS, () => end());
    socket.once("connect", () => end()).on("error", ({ code }: NodeJS.ErrnoException) => end(code));
  });
}
