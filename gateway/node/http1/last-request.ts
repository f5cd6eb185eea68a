/** What a connection remembers of its last request, so that the next one to the same service is recognised before it is read. */
import type { UnreadRequests } from "../../backlog.js";
import type { Exchange } from "./exchange.js";
import { startsWith } from "./hold.js";

/** What ends a path: the end of the target, or its query. */
const ENDS_PATH: ReadonlySet<number | undefined> = new Set(Buffer.from(" ?"));

export class LastRequest {
  #backlog: UnreadRequests | undefined;
  #method = "";
  #target = "";
  /** How requests with its method and path begin: `POST /v1/helloworld/call`. */
  #start = "";

  /** The request was answered. */
  set({ backlog, method, target }: Exchange): void {
    this.#backlog = backlog;
    if (backlog === undefined || (target === this.#target && method === this.#method)) return;
    this.#method = method;
    this.#target = target;
    const [path] = target.split("?", 1);
    this.#start = `${method} ${path}`;
  }

  /** Where a request has to wait that begins at a place of a chunk; undefined for one that may be read. */
  backlogOf(chunk: Buffer, at: number): UnreadRequests | undefined {
    if (!this.#backlog?.isFull || !startsWith(chunk, at, this.#start)) return undefined;
    return ENDS_PATH.has(chunk[at + this.#start.length]) ? this.#backlog : undefined;
  }
}
