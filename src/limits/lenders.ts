/**
 * Which authority lends the tokens of a subject: rendezvous hashing (Thaler and Ravishankar, 1998).
 * When an authority joins or leaves, only the subjects that it gains or had change their lender.
 */

/**
 * @param subject the same text at guards and authorities
 * @param lenders the IDs of the authorities that lend; with none, the only authority lends, `""`
 */
export function lenderOf(subject: string, lenders: readonly string[]): string {
  let best = "";
  let highest = -1;
  for (const lender of lenders) {
    const weight = hash(`${lender} ${subject}`);
    if (weight > highest || (weight === highest && lender > best)) {
      best = lender;
      highest = weight;
    }
  }
  return best;
}

/** FNV-1a of the UTF-16 code units, with the finalizer of MurmurHash3, which spreads the bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** The text that names one budget of a limit for one subject. */
export function budgetKey(namespace: string, limit: string, subject: string): string {
  return `${limitKey(namespace, limit)}\n${subject}`;
}

/** The text that names a limit. */
export function limitKey(namespace: string, limit: string): string {
  return `${namespace}\n${limit}`;
}
