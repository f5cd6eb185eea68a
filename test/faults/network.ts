/**
 * The link between one gateway (the edge) and its authority. A test cuts it silently: bytes are
 * lost, and neither end gets an error.
 *
 * With the necessary rights, the edge runs in its own network namespace with two links. `back`
 * leads to the authority and is cut. `front` leads to its callers and services and is never cut. To
 * cut a link, the other end gets a wrong hardware address, so that packets arrive nowhere. Without
 * these rights, a relay between gateway and authority discards the bytes.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer, connect as dial, type Socket } from "node:net";

/**
 * Which bytes are lost: `both` directions, only what the edge sends, or only what is sent to it.
 */
export type Direction = "both" | "from edge" | "to edge";

export interface Network {
  readonly kind: "namespaces" | "relay";
  /** Where the authority listens. */
  readonly authorityHost: string;
  /**
   * Where services listen: an address that the edge reaches while it is cut off from the authority.
   */
  readonly frontHost: string;
  /** Where the edge listens for callers. */
  readonly edgeHost: string;
  /** The prefix of a command that runs at the edge. */
  readonly atEdge: readonly string[];
  /** Returns the address by which the edge reaches the authority. */
  link(authority: string): Promise<string>;
  cut(direction?: Direction): void;
  mend(): void;
  close(): void;
}

/** Why network namespaces cannot be made here; undefined if they can. */
export function noNamespaces(): string | undefined {
  try {
    ip(["netns", "add", PROBE]);
    ip(["netns", "del", PROBE]);
    return undefined;
  } catch (error) {
    return `no network namespaces (${
      String((error as Error).message)
        .split("\n")
        .at(1) ?? "ip failed"
    })`;
  }
}

export function openNetwork(): Network {
  return noNamespaces() === undefined ? new Namespaces() : new Relay();
}

const PROBE = `portico-probe-${process.pid}`;
const NOWHERE = "02:00:00:00:00:99";

function ip(args: readonly string[]): string {
  return execFileSync("ip", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

let opened = 0;

class Namespaces implements Network {
  readonly kind = "namespaces";
  readonly #name: string;
  /** The first three bytes of the addresses. They differ, so that several tests can run at once. */
  readonly #net: string;
  readonly #links: { readonly ours: string; readonly theirs: string };
  readonly authorityHost: string;
  readonly frontHost: string;
  readonly edgeHost: string;
  readonly atEdge: readonly string[];

  constructor() {
    const id = (process.pid + 7919 * opened++) % 16_384;
    this.#name = `portico-edge-${id}`;
    this.#net = `10.${64 + (id >> 8)}.${id & 255}`;
    this.#links = { ours: `pb${id}`, theirs: "back" };
    this.authorityHost = `${this.#net}.1`;
    this.frontHost = `${this.#net}.129`;
    this.edgeHost = `${this.#net}.130`;
    this.atEdge = ["ip", "netns", "exec", this.#name];
    this.close();
    ip(["netns", "add", this.#name]);
    this.#connect(`pb${id}`, "back", `${this.#net}.1/30`, `${this.#net}.2/30`);
    this.#connect(`pf${id}`, "front", `${this.#net}.129/30`, `${this.#net}.130/30`);
    ip(["-n", this.#name, "link", "set", "lo", "up"]);
  }

  #connect(ours: string, theirs: string, ourAddress: string, theirAddress: string): void {
    ip(["link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", this.#name]);
    ip(["addr", "add", ourAddress, "dev", ours]);
    ip(["link", "set", ours, "up"]);
    ip(["-n", this.#name, "addr", "add", theirAddress, "dev", theirs]);
    ip(["-n", this.#name, "link", "set", theirs, "up"]);
  }

  async link(authority: string): Promise<string> {
    return authority;
  }

  cut(direction: Direction = "both"): void {
    const { ours, theirs } = this.#links;
    const wrong = (address: string, device: string) =>
      ["neigh", "replace", address, "lladdr", NOWHERE, "dev", device, "nud", "permanent"] as const;
    if (direction !== "to edge") ip(["-n", this.#name, ...wrong(`${this.#net}.1`, theirs)]);
    if (direction !== "from edge") ip([...wrong(`${this.#net}.2`, ours)]);
  }

  mend(): void {
    const { ours, theirs } = this.#links;
    ignoring(() => ip(["-n", this.#name, "neigh", "del", `${this.#net}.1`, "dev", theirs]));
    ignoring(() => ip(["neigh", "del", `${this.#net}.2`, "dev", ours]));
  }

  close(): void {
    ignoring(() => ip(["netns", "del", this.#name]));
  }
}

function ignoring(run: () => unknown): void {
  try {
    run();
  } catch {
    // It does not exist.
  }
}

class Relay implements Network {
  readonly kind = "relay";
  readonly authorityHost = "127.0.0.1";
  readonly frontHost = "127.0.0.1";
  readonly edgeHost = "127.0.0.1";
  readonly atEdge = [];
  readonly #sockets = new Set<Socket>();
  readonly #cut = { fromEdge: false, toEdge: false };
  #stop: () => void = () => {};

  async link(authority: string): Promise<string> {
    const [host, port] = authority.split(":") as [string, string];
    const server = createServer((edge) => {
      const far = dial(Number(port), host);
      this.#pass(edge, far, () => this.#cut.fromEdge);
      this.#pass(far, edge, () => this.#cut.toEdge);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    this.#stop = () => server.close();
    return `127.0.0.1:${(server.address() as { port: number }).port}`;
  }

  cut(direction: Direction = "both"): void {
    if (direction !== "to edge") this.#cut.fromEdge = true;
    if (direction !== "from edge") this.#cut.toEdge = true;
  }

  /** Closes the connections too: after a long cut of a real link, they would be lost as well. */
  mend(): void {
    this.#cut.fromEdge = false;
    this.#cut.toEdge = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#stop();
    this.mend();
  }

  #pass(from: Socket, to: Socket, isCut: () => boolean): void {
    this.#sockets.add(from);
    from.on("data", (bytes) => {
      if (!isCut()) to.write(bytes);
    });
    from.on("error", () => {});
    from.on("close", () => {
      this.#sockets.delete(from);
      if (!isCut()) to.destroy();
    });
  }
}
