/**
 * Restrictions: what takes away from callers, and what a guard that does not know of it would grant all the same. Each has a
 * kind. A guard names the kinds that it understands when it opens its stream (Watch.start). The rules of the authority:
 *
 *  1. No restriction of a kind is created while a guard with a lease does not understand it (Changes.checkRestriction).
 *  2. While a restriction of a kind is in force, a guard that does not understand it gets no lease (endpoints/policy.ts).
 *  3. A guard that gets its lease between the check and the change is waited for until that lease has run out, whatever
 *     it says to have applied (log/leases.ts). So a restriction must be made by Changes.make, and be of no use before it resolves.
 *
 * What can be expressed by leaving something out needs no kind.
 */

/** API keys that are limited to resources. */
export const LIMITED_KEYS = "limited-keys";

/** The kinds that this version understands, as a guard and as an authority. */
export const RESTRICTIONS: readonly string[] = [LIMITED_KEYS];
