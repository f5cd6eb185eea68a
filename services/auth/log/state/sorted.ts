/** Lists of texts that are kept in ascending order. */

/** The place of a text among others, which ascend; where it is absent, the place at which it would be. */
export function placeOf(texts: readonly string[], text: string): number {
  let [low, high] = [0, texts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (texts[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
