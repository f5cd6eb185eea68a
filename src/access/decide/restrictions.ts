/**
 * A restriction is data that takes permissions away from callers, such as a limited API key. A
 * guard that does not know the kind of a restriction would ignore it and grant the call. So each
 * restriction has a kind, and a guard names the kinds that it understands when it opens its stream
 * (Watch.start). The authority keeps these rules:
 *
 *  1. It creates no restriction of a kind while a guard that has a lease does not understand
 *     the kind (Changes.checkRestriction).
 *  2. While a restriction of a kind is in force, a guard that does not understand the kind gets
 *     no lease (services/auth/endpoints/policy.ts).
 *  3. A guard may get its lease between the check and the change. The authority then waits until
 *     that lease has expired, whatever revision the guard acknowledges
 *     (services/auth/log/leases/leases.ts). So a restriction must be made by Changes.make, and
 *     must not be usable before that resolves.
 *
 * A restriction needs no kind if the authority can express it by leaving out data that grants
 * something.
 */

/** API keys that are limited to resources. */
export const LIMITED_KEYS = "limited-keys";

/** Limits of calls. */
export const LIMITS = "limits";

/** API keys for clients at some addresses. */
export const KEY_ADDRESSES = "key-addresses";

/** The kinds that this version understands, as a guard and as an authority. */
export const RESTRICTIONS: readonly string[] = [LIMITED_KEYS, LIMITS, KEY_ADDRESSES];

/** Which kinds are in force, in the order of RESTRICTIONS. */
type InForce = readonly [limitedKeys: boolean, limits: boolean, keyAddresses: boolean];

/** Each set of kinds, by the number whose bits it is. */
const SETS = Array.from({ length: 2 ** RESTRICTIONS.length }, (_, bits) =>
  RESTRICTIONS.filter((_, index) => bits & (2 ** index)),
);

/** The kinds that are in force. Makes no list, because it is asked at each ping of a guard. */
export function restrictionsInForce(inForce: InForce): readonly string[] {
  let bits = 0;
  for (let index = 0; index < inForce.length; index++) if (inForce[index]) bits |= 2 ** index;
  return SETS[bits] as readonly string[];
}
