/** Checks the names and addresses of instances that register. */

import { isUnixSocket } from "../../src/address/address.js";
import { isSrvName } from "../../src/address/srv.js";
import { isMetadataNames, METADATA_NAMES } from "../../src/contract/metadata-names.js";
import { BINDING_PREFIX, NAME, RESERVED_NAMES, SELF_GOVERNED } from "../../src/contract/names.js";
import type { Instance } from "../../src/gen/portico/registry/v1/registry.js";

/** The ID of an instance: printable ASCII without spaces. */
const ID = /^[!-~]{1,128}$/;
const PORT = /^(?:grpcs:\/\/)?(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]{1,253}):(\d{1,5})$/;
const MAX_ADDRESSES = 16;

/**
 * Checks a service's name. Only the authority's own process (`local`) may use `auth` and
 * `registry`.
 * @throws {Error} with a message for the service's owner
 */
export function checkServiceName(name: string, local: boolean): void {
  if (!NAME.test(name)) {
    const shown = JSON.stringify(name.slice(0, 80));
    throw new Error(`service name ${shown} must be 1 to 63 lower-case letters, digits and -, not starting with -`);
  }
  if (RESERVED_NAMES.has(name) || (SELF_GOVERNED.has(name) && !local)) {
    throw new Error(`service name "${name}" is reserved; choose another`);
  }
}

/**
 * Checks all of an instance except its descriptors. An instance of this process (`local`) needs no
 * address.
 * @throws {Error} with a message for the service's owner
 */
export function checkInstance(instance: Instance, local: boolean): void {
  const { service, id, addresses, bindingPrefix, metadata } = instance;
  checkServiceName(service, local);
  if (bindingPrefix !== "" && !BINDING_PREFIX.test(bindingPrefix)) {
    throw new Error(`binding_prefix ${JSON.stringify(bindingPrefix.slice(0, 80))} must be a path such as /api`);
  }
  if (!isMetadataNames(metadata)) throw new Error(METADATA_NAMES);
  if (!ID.test(id)) throw new Error("id must be 1 to 128 printable ASCII characters without spaces");
  if ((addresses.length === 0 && !local) || addresses.length > MAX_ADDRESSES) {
    throw new Error(`${addresses.length} addresses; 1 to ${MAX_ADDRESSES} are accepted`);
  }
  for (const address of addresses) {
    // These are from the configuration, which was checked when it was read.
    if (isUnixSocket(address) || isSrvName(address)) continue;
    const port = Number(PORT.exec(address)?.[1]);
    if (!(port >= 1 && port <= 65535)) {
      throw new Error(
        `address ${JSON.stringify(address.slice(0, 80))} must be host:port, such as 127.0.0.1:8081, or grpcs://host:port`,
      );
    }
  }
}
