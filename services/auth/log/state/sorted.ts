/** Lists of texts in ascending order. */

/** The index of a text in an ascending list, or the index at which to insert it. */
export function placeOf(texts: readonly string[], text: string): number {
  let [low, high] = [0, texts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (texts[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
