/**
 * The other end of a connection: a client, or a trusted proxy, whose requests name their clients in
 * headers.
 */
import type { Socket } from "node:net";
import { peerAddressOf, type TrustedProxies, UNIX_PEER } from "../../src/address/client-address.js";
import type { ClientMemory, ConnectionMemory, MemoryBudget } from "../../src/memory/memory-budget.js";
import { forwardedClient } from "../http/forwarded.js";

export class Peer {
  /** Whether the headers of requests name their clients. */
  readonly isProxy: boolean;
  readonly #proxies: TrustedProxies | undefined;
  readonly #source: Pick<Socket, "remoteAddress">;
  #address: string | undefined;

  private constructor(source: Pick<Socket, "remoteAddress">, proxies: TrustedProxies | undefined) {
    this.#source = source;
    this.#proxies = proxies;
    this.isProxy = proxies !== undefined && !proxies.empty && proxies.has(this.address);
  }

  /** The peer to which the socket is connected. */
  static of(socket: Socket, proxies: TrustedProxies | undefined): Peer {
    return new Peer(socket, proxies);
  }

  /** A process of this machine, at the other end of a Unix socket. */
  static unix(proxies: TrustedProxies | undefined): Peer {
    return new Peer({ remoteAddress: UNIX_PEER }, proxies);
  }

  /** The client that a PROXY header names. It may be another proxy. */
  static named(address: string, proxies: TrustedProxies): Peer {
    return new Peer({ remoteAddress: address }, proxies);
  }

  /**
   * A trusted proxy whose PROXY header names no client. Headers of its requests are not trusted,
   * because they may come from anyone.
   */
  static unnamed(remoteAddress: string): Peer {
    return new Peer({ remoteAddress }, undefined);
  }

  /** The IP address of the peer, or `unix`; empty where the connection is closed. */
  get address(): string {
    this.#address ??= peerAddressOf(this.#source) ?? "";
    return this.#address;
  }

  /** The address under which the peer's memory is counted. */
  get memoryAddress(): string {
    return this.address || "unknown";
  }

  /**
   * Opens an account of the memory that a proxy's client uses. The caller closes it when the
   * request has ended. Undefined where requests use the memory of the connection: there is no
   * proxy, or the proxy names no client.
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
