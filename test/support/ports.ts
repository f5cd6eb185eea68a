import { once } from "node:events";
import { createServer } from "node:net";

/** A port of 127.0.0.1 where nobody listens. */
export async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as { port: number };
  await new Promise((resolve) => listener.close(resolve));
  return port;
}
