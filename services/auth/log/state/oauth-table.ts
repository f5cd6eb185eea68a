/**
 * What the authorization server knows (RFC 6749): registered clients, the grants of people with
 * their tokens and codes, and the device codes for which a person has not decided yet.
 *
 * An account has at most MAX_GRANTS grants, so they are plain objects. All are immutable: a change
 * replaces the object, so a draft need not copy it.
 */
import type {
  DeviceCode,
  Grant,
  OAuthClient,
  PersonLink,
  Snapshot,
  Token,
} from "../../../../src/gen/portico/auth/log/v1/log.js";
import { timestampMs } from "../../../../src/time.js";
import { DraftMap, type MapEntries } from "../changelog/draft-map.js";
import { hex } from "./hex.js";

/** Maximum number of grants of an account at once; a new one ends the oldest. */
export const MAX_GRANTS = 100;
/** Maximum number of access tokens of a grant at once; a new one ends the oldest. */
export const MAX_GRANT_ACCESS = 16;
/** Maximum number of exchanged refresh tokens that are remembered for a grant. */
export const MAX_GRANT_SPENT = 100;

/** How a token or a code belongs to a grant. */
export type GrantTokenKind = "access" | "refresh" | "spent" | "code";

/** A token or a code of a grant. */
export interface GrantToken {
  readonly kind: GrantTokenKind;
  readonly grant: Grant;
  readonly expires: Token["expires"];
}

export type FrozenOAuth = Pick<Snapshot, "oauthClients" | "grants" | "deviceCodes">;

export class OAuthTable {
  readonly #clients: MapEntries<string, OAuthClient>;
  readonly #grants: MapEntries<string, Grant>;
  /** IDs of grants by their owner, oldest first. */
  readonly #byOwner: MapEntries<string, readonly string[]>;
  /** The ID of the grant by the hash of each of its tokens and codes. */
  readonly #byToken: MapEntries<string, string>;
  /** By the hash of the device code. */
  readonly #devices: MapEntries<string, DeviceCode>;
  /** The hash of the device code by the hash of its user code. */
  readonly #byUserCode: MapEntries<string, string>;
  /** How many grants are limited to resources. */
  #limited: number;

  /** @param base makes this a draft of it; see State.draft */
  constructor(base?: OAuthTable) {
    this.#clients = base === undefined ? new Map() : new DraftMap(base.#clients);
    this.#grants = base === undefined ? new Map() : new DraftMap(base.#grants);
    this.#byOwner = base === undefined ? new Map() : new DraftMap(base.#byOwner);
    this.#byToken = base === undefined ? new Map() : new DraftMap(base.#byToken);
    this.#devices = base === undefined ? new Map() : new DraftMap(base.#devices);
    this.#byUserCode = base === undefined ? new Map() : new DraftMap(base.#byUserCode);
    this.#limited = base?.limited ?? 0;
  }

  /** How many grants are limited to resources. */
  get limited(): number {
    return this.#limited;
  }

  client(id: string): OAuthClient | undefined {
    return this.#clients.get(id);
  }

  clientsOf(namespace: string): OAuthClient[] {
    return [...this.#clients.values()].filter((client) => client.namespace === namespace);
  }

  putClient(client: OAuthClient): void {
    this.#clients.set(client.id, client);
  }

  grant(id: string): Grant | undefined {
    return this.#grants.get(id);
  }

  /** The grants of an account, oldest first. */
  grantsOf(namespace: string, account: string): Grant[] {
    const ids = this.#byOwner.get(ownerOf({ namespace, account })) ?? [];
    return ids.map((id) => this.#grants.get(id)!);
  }

  /** What a token or code is to a grant; undefined if it is of none. */
  token(sha256: Buffer): GrantToken | undefined {
    const grant = this.#grants.get(this.#byToken.get(hex(sha256)) ?? "");
    if (grant === undefined) return undefined;
    const isIt = (token: { sha256: Buffer } | undefined): boolean => token?.sha256.equals(sha256) === true;
    const access = grant.access.find(isIt);
    if (access !== undefined) return { kind: "access", grant, expires: access.expires };
    if (isIt(grant.refresh)) return { kind: "refresh", grant, expires: grant.refresh!.expires };
    if (isIt(grant.code)) return { kind: "code", grant, expires: grant.code!.expires };
    const spent = grant.spent.find(isIt);
    return spent && { kind: "spent", grant, expires: spent.expires };
  }

  /**
   * Adds a grant.
   * @param now in milliseconds since 1970. A grant that has expired by then does not count, whether
   *   it was forgotten or not: authorities forget at different times
   * @returns the access tokens of the account's oldest grant, if that was ended for the new one
   */
  addGrant(grant: Grant, now = Number.NEGATIVE_INFINITY): Buffer[] {
    const owner = ownerOf(grant);
    for (const other of this.grantsOf(grant.namespace, grant.account)) {
      if (endOf(other) <= now) this.removeGrant(other.id);
    }
    const ids = this.#byOwner.get(owner) ?? [];
    const ended = ids.length >= MAX_GRANTS ? this.removeGrant(ids[0]!) : [];
    this.#byOwner.set(owner, [...(this.#byOwner.get(owner) ?? []), grant.id]);
    this.#put(grant);
    if (grant.resources.length > 0) this.#limited++;
    return ended;
  }

  /** Replaces a grant by one with the same ID, owner and resources. */
  replaceGrant(grant: Grant): void {
    const before = this.#grants.get(grant.id);
    for (const { sha256 } of before === undefined ? [] : tokensOf(before)) this.#byToken.delete(hex(sha256));
    this.#put(grant);
  }

  /** Removes a grant; returns the hashes of its access tokens. */
  removeGrant(id: string): Buffer[] {
    const grant = this.#grants.get(id);
    if (grant === undefined) return [];
    this.#grants.delete(id);
    for (const { sha256 } of tokensOf(grant)) this.#byToken.delete(hex(sha256));
    const owner = ownerOf(grant);
    const ids = (this.#byOwner.get(owner) ?? []).filter((other) => other !== id);
    if (ids.length === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, ids);
    if (grant.resources.length > 0) this.#limited--;
    return grant.access.map(({ sha256 }) => sha256);
  }

  /** Removes the grants of an account whose tokens all end. */
  removeGrantsOf(namespace: string, account: string): void {
    for (const { id } of this.grantsOf(namespace, account)) this.removeGrant(id);
  }

  /** The grants for which a person signed in by an issuer. */
  grantsBy({ namespace, account, issuer, subject }: PersonLink): Grant[] {
    const grants = this.grantsOf(namespace, account);
    return grants.filter((grant) => grant.issuer === issuer && grant.subject === subject);
  }

  /**
   * Removes a client with its grants and its devices; returns the grants, or undefined if neither
   * existed. Of a client that is not the namespace's, only grants of the namespace end.
   */
  removeClient(namespace: string, id: string): Grant[] | undefined {
    const existed = this.#clients.get(id)?.namespace === namespace;
    const grants = this.grantsTo(namespace, id);
    for (const grant of grants) this.removeGrant(grant.id);
    if (existed) {
      this.#clients.delete(id);
      for (const { sha256, clientId } of [...this.#devices.values()]) if (clientId === id) this.removeDevice(sha256);
    }
    return existed || grants.length > 0 ? grants : undefined;
  }

  grantsTo(namespace: string, clientId: string): Grant[] {
    return [...this.#grants.values()].filter((grant) => grant.clientId === clientId && grant.namespace === namespace);
  }

  /** Removes the clients of a deleted namespace. Its grants have gone with its accounts. */
  removeNamespace(namespace: string): void {
    for (const { id } of this.clientsOf(namespace)) this.removeClient(namespace, id);
  }

  /** How many device codes are remembered. */
  get deviceCount(): number {
    return this.#devices.size;
  }

  /** How many of them are a client's. Reads all. */
  devicesOf(clientId: string): number {
    return [...this.#devices.values()].filter((device) => device.clientId === clientId).length;
  }

  device(sha256: Buffer): DeviceCode | undefined {
    return this.#devices.get(hex(sha256));
  }

  deviceByUserCode(sha256: Buffer): DeviceCode | undefined {
    return this.#devices.get(this.#byUserCode.get(hex(sha256)) ?? "");
  }

  putDevice(device: DeviceCode): void {
    this.#devices.set(hex(device.sha256), device);
    this.#byUserCode.set(hex(device.userCodeSha256), hex(device.sha256));
  }

  removeDevice(sha256: Buffer): void {
    const device = this.device(sha256);
    if (device === undefined) return;
    this.#devices.delete(hex(sha256));
    this.#byUserCode.delete(hex(device.userCodeSha256));
  }

  /** Removes what has expired. Reads all. */
  forget(now: number): void {
    for (const grant of [...this.#grants.values()]) if (endOf(grant) <= now) this.removeGrant(grant.id);
    for (const { sha256, expires } of [...this.#devices.values()]) {
      if (timestampMs(expires) <= now) this.removeDevice(sha256);
    }
  }

  freeze(): FrozenOAuth {
    return {
      oauthClients: [...this.#clients.values()],
      grants: [...this.#byOwner.values()].flatMap((ids) => ids.map((id) => this.#grants.get(id)!)),
      deviceCodes: [...this.#devices.values()],
    };
  }

  merge({ oauthClients, grants, deviceCodes }: FrozenOAuth): void {
    for (const client of oauthClients) this.putClient(client);
    for (const grant of grants) this.addGrant(grant);
    for (const device of deviceCodes) this.putDevice(device);
  }

  #put(grant: Grant): void {
    this.#grants.set(grant.id, grant);
    for (const { sha256 } of tokensOf(grant)) this.#byToken.set(hex(sha256), grant.id);
  }
}

/** When a grant can give no tokens any more, in milliseconds since 1970. */
function endOf({ expires, code, refresh }: Grant): number {
  const isUnused = refresh === undefined && code !== undefined;
  return isUnused ? Math.min(timestampMs(code.expires), timestampMs(expires)) : timestampMs(expires);
}

function tokensOf({ access, refresh, spent, code }: Grant): { readonly sha256: Buffer }[] {
  return [...access, ...spent, ...(refresh ? [refresh] : []), ...(code ? [code] : [])];
}

/** A name has no space. */
function ownerOf({ namespace, account }: { readonly namespace: string; readonly account: string }): string {
  return `${namespace} ${account}`;
}
