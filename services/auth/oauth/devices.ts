/** Devices that cannot show a browser ask for a grant by a code that a person types (RFC 8628). */
import { randomInt } from "node:crypto";
import { networkOf } from "../../../src/address/client-address.js";
import { createToken, hashToken, isToken } from "../../../src/call/token.js";
import { areScopes } from "../../../src/contract/oauth-scopes.js";
import { isDocumentUrl } from "../../../src/contract/scope.js";
import type { StartDeviceRequest, StartDeviceResponse } from "../../../src/gen/portico/auth/v1/oauth.js";
import { BoundedMap } from "../../../src/memory/bounded-map.js";
import { toTimestamp } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import { PORTICO } from "../log/changelog/journal.js";
import { authenticates, registeredClient } from "./known-client.js";

/** How long a device code lives, in milliseconds. */
const DEVICE_LIFE = 10 * 60_000;
/** Seconds between two polls. */
const INTERVAL = 5;
/**
 * Maximum number of device codes at once, of one client, and new ones of a network in a minute.
 * Anyone can ask as a client without a secret: a flood by one leaves room for devices of others.
 */
const MAX_DEVICES = 1_000;
const MAX_OF_CLIENT = MAX_DEVICES / 2;
const MAX_PER_MINUTE = 10;
/** No vowels: the codes form no words. No letters that look like others (RFC 8628 §6.1). */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LENGTH = 8;

/** The hash under which a user code is stored, however the person has typed it. */
export function hashUserCode(text: string): Buffer {
  return hashToken(`user code ${text.toUpperCase().replaceAll(/[^A-Z]/g, "")}`);
}

function createUserCode(): string {
  const letters = Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

const NONE = { error: "", description: "", deviceCode: "", userCode: "", expiresIn: 0, interval: 0 };

/** Begins authorizations of devices, and slows clients down that ask too often. */
export class Devices {
  readonly #changes: Changes;
  /** When each network began devices in the last minute, in milliseconds since 1970. */
  readonly #begun = new BoundedMap<string, number[]>(10_000);
  /** When each device last polled, by its code. */
  readonly #polled = new BoundedMap<string, number>(MAX_DEVICES);

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  async start(request: StartDeviceRequest): Promise<StartDeviceResponse> {
    const changes = this.#changes;
    const { clientId, clientName, scopes, resource, address } = request;
    await changes.sync();
    const known = registeredClient(changes.state, clientId);
    // A metadata document proves nothing about a device, so only registered clients may ask.
    if (known === undefined || isDocumentUrl(clientId) || !authenticates(changes.state, request)) {
      return { ...NONE, error: "invalid_client", description: "the client or its secret is unknown" };
    }
    if (!areScopes(scopes, resource)) {
      return { ...NONE, error: "invalid_scope", description: "a scope is no pattern of resources, or names no tools" };
    }
    const { oauth } = changes.state;
    const isFull = oauth.deviceCount >= MAX_DEVICES || oauth.devicesOf(clientId) >= MAX_OF_CLIENT;
    if (!this.#mayStart(networkOf(address)) || isFull) {
      return { ...NONE, error: "slow_down", description: "too many devices ask at the moment; try again in a minute" };
    }
    const [deviceCode, userCode] = [createToken("deviceCode"), createUserCode()];
    const code = {
      sha256: hashToken(deviceCode),
      userCodeSha256: hashUserCode(userCode),
      clientId,
      clientName: clientName || known.name,
      scopes,
      resource,
      expires: toTimestamp(changes.now + DEVICE_LIFE),
      decided: false,
      denied: false,
    };
    await changes.issue(PORTICO, () => [{ $case: "deviceCodeCreated", value: { code } }]);
    return { ...NONE, deviceCode, userCode, expiresIn: DEVICE_LIFE / 1000, interval: INTERVAL };
  }

  /** Whether the device polls more often than it may (RFC 8628 §3.5). */
  pollsTooOften(deviceCode: string): boolean {
    if (!isToken(deviceCode)) return false;
    const { now } = this.#changes;
    const last = this.#polled.get(deviceCode);
    this.#polled.set(deviceCode, now);
    // A second less than the interval, because networks are not exact.
    return last !== undefined && now - last < (INTERVAL - 1) * 1000;
  }

  #mayStart(network: string): boolean {
    const { now } = this.#changes;
    const recent = (this.#begun.get(network) ?? []).filter((time) => now - time < 60_000);
    if (recent.length >= MAX_PER_MINUTE) return false;
    this.#begun.set(network, [...recent, now]);
    return true;
  }
}
