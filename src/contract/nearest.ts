/** Finds the name that was probably meant, for an error about an unknown name. */

/**
 * Maximum work, because any caller can ask for unknown names. A candidate counts 1; a comparison
 * counts the product of the two lengths.
 */
const MAX_WORK = 100_000;

/**
 * The most similar candidate, if it differs in at most a third of the name's length; undefined
 * otherwise.
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.floor(name.length / 3) + 1;
  let work = 0;
  for (const candidate of candidates) {
    const similar = Math.abs(candidate.length - name.length) < least;
    work += similar ? 1 + candidate.length * name.length : 1;
    if (work > MAX_WORK) break;
    const edits = similar ? distance(name, candidate) : least;
    if (edits >= least) continue;
    best = candidate;
    least = edits;
  }
  return best;
}

/** `; did you mean default?`, or an empty text if no known name is similar. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearest(name, known);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

/** The Levenshtein distance: how many characters must be inserted, deleted or replaced. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
