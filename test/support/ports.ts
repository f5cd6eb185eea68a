import { once } from "node:events";
import { connect, createServer } from "node:net";

/** Below the ports that systems choose for port 0 (Linux: from 32768, others from 49152). */
const FIRST = 12_000;
const LAST = 32_000;

/**
 * Returns a free port of 127.0.0.1. It is outside the range from which the system chooses ports, so
 * no other test gets it between this call and the use of the port.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const listener = createServer().listen(port, "127.0.0.1");
    const isFree = await once(listener, "listening").then(
      () => true,
      () => false,
    );
    await new Promise((resolve) => listener.close(resolve));
    if (isFree) return port;
  }
}

/** Whether something listens on a port of 127.0.0.1. */
export async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isConnected = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}
