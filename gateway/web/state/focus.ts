/**
 * Where the keyboard's focus goes when the element that had it has been removed. Without this code,
 * the browser would move the focus to the start of the document.
 */
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Moves the focus to the page's content, as after loading a document. */
export function focusPage(): void {
  document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
}

/**
 * Moves the focus to the page's content if the focus was lost, or is inside `going`, which is about
 * to be removed.
 */
export function keepFocus(going?: Element | null): void {
  const { activeElement } = document;
  if (activeElement === document.body || going?.contains(activeElement)) focusPage();
}

/**
 * Moves the focus to another element of `place` when drawing removed the element that had it.
 * @param to selector of that other element
 */
export function useKeptFocus(place: RefObject<HTMLElement | null>, to = "button"): void {
  // This runs before the page is drawn again, so the element is still there.
  const wasInside = place.current?.contains(document.activeElement) === true;
  useLayoutEffect(() => {
    if (wasInside && document.activeElement === document.body) place.current?.querySelector<HTMLElement>(to)?.focus();
  });
}
