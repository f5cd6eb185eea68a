/** What a client's connection to one of our HTTP ports holds of the process's memory budget. */
import type { Socket } from "node:net";
import type { ConnectionMemory, MemoryBudget } from "../../src/memory-budget.js";
import { HttpError } from "../errors.js";

const MEMORY = Symbol("memory");

/** Fewer bytes are not reserved where they are all that a connection has waiting. */
export const MIN_RESERVED = 4_096;

export const NO_MEMORY = new HttpError(503, "Too much is waiting to be received or read; try again", {
  headers: ["Retry-After", "1"],
});

/** Of a connection; made when it first holds anything, because most never do. It ends with the connection. */
export function memoryOf(socket: Socket & { [MEMORY]?: ConnectionMemory }, budget: MemoryBudget): ConnectionMemory {
  const known = socket[MEMORY];
  if (known !== undefined) return known;
  const memory = budget.open(socket.remoteAddress ?? "unix");
  socket[MEMORY] = memory;
  // A socket that is destroyed may have told of its close before.
  if (socket.destroyed) memory.close();
  else socket.once("close", () => memory.close());
  return memory;
}
