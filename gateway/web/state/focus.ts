import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/**
 * Gives the focus to another element of `place` where the one that had it went away as it was drawn anew: it would fall
 * back to the beginning of the page.
 * @param to a selector of that element
 */
export function useKeptFocus(place: RefObject<HTMLElement | null>, to = "button"): void {
  // Drawn first, so the element is still there.
  const wasInside = place.current?.contains(document.activeElement) === true;
  useLayoutEffect(() => {
    if (wasInside && document.activeElement === document.body) place.current?.querySelector<HTMLElement>(to)?.focus();
  });
}
