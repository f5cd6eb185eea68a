/** The other end of a connection: a client, or a trusted proxy, whose requests name their clients in headers. */
import type { Socket } from "node:net";
import type { TrustedProxies } from "../../src/address/client-address.js";
import type { ClientMemory, ConnectionMemory, MemoryBudget } from "../../src/memory/memory-budget.js";
import { forwardedClient } from "../http/forwarded.js";

export class Peer {
  /** Whether headers of requests say who their clients are. */
  readonly isProxy: boolean;
  readonly #proxies: TrustedProxies | undefined;
  readonly #source: Pick<Socket, "remoteAddress">;
  #address: string | undefined;

  private constructor(source: Pick<Socket, "remoteAddress">, proxies: TrustedProxies | undefined) {
    this.#source = source;
    this.#proxies = proxies;
    this.isProxy = proxies !== undefined && !proxies.empty && proxies.has(this.address);
  }

  /** Whom the socket is connected to. */
  static of(socket: Socket, proxies: TrustedProxies | undefined): Peer {
    return new Peer(socket, proxies);
  }

  /** Whom a PROXY header names as the client, which may be a proxy itself. */
  static named(address: string, proxies: TrustedProxies): Peer {
    return new Peer({ remoteAddress: address }, proxies);
  }

  /** A trusted proxy that names no client: what headers say may come from anyone. */
  static unnamed(socket: Socket): Peer {
    return new Peer(socket, undefined);
  }

  /** Its IP address; empty where the connection is not IP's, or has gone. */
  get address(): string {
    this.#address ??= this.#source.remoteAddress ?? "";
    return this.#address;
  }

  /** The address by which its memory is counted. */
  get memoryAddress(): string {
    return this.address || "unix";
  }

  /**
   * The memory of one client of a proxy; undefined where requests draw on that of the connection, because there is no proxy, or
   * it names none. To be closed with the request.
   */
  openClient(
    request: { readonly rawHeaders: readonly string[] },
    budget: MemoryBudget,
    connection: ConnectionMemory,
  ): ClientMemory | undefined {
    if (!this.isProxy) return undefined;
    const client = this.clientOf(request);
    return this.#proxies?.has(client) ? undefined : budget.openClient(connection, client);
  }

  /** The address of the client of a request. */
  clientOf(request: { readonly rawHeaders: readonly string[] }): string {
    if (!this.isProxy) return this.address;
    return forwardedClient(this.address, request.rawHeaders, this.#proxies as TrustedProxies);
  }
}
