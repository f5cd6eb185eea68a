/** A TCP proxy that cuts connections, and the bytes in transit with them. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Test } from "tap";

export class CuttingProxy {
  readonly port: number;
  /** The port on loopback to which new connections go. */
  target: number;
  /** Whether the bytes that the server sends reach the client, or are discarded. */
  responses: "pass" | "vanish" = "pass";
  /** The number of bytes from the server that were discarded. */
  vanished = 0;
  readonly #connections: Set<Socket>;

  private constructor(port: number, target: number, connections: Set<Socket>) {
    this.port = port;
    this.target = target;
    this.#connections = connections;
  }

  /** Listens on loopback until the test ends. */
  static async listen(t: Test, target: number): Promise<CuttingProxy> {
    const connections = new Set<Socket>();
    const server = createServer((client) => {
      const upstream = connect(proxy.target, "127.0.0.1");
      connections.add(client);
      client.on("close", () => {
        connections.delete(client);
        upstream.destroy();
      });
      upstream.on("close", () => client.destroy());
      for (const socket of [client, upstream]) socket.on("error", () => undefined);
      client.on("data", (bytes) => upstream.write(bytes));
      upstream.on("data", (bytes) => {
        if (proxy.responses === "pass") client.write(bytes);
        else proxy.vanished += bytes.length;
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const proxy = new CuttingProxy((server.address() as AddressInfo).port, target, connections);
    t.teardown(() => {
      proxy.cut();
      server.close();
    });
    return proxy;
  }

  /** Resets every connection. */
  cut(): void {
    for (const client of this.#connections) client.resetAndDestroy();
  }
}
