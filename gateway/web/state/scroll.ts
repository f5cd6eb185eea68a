/**
 * The scroll positions of the pages in the browser's history. The content of a page may be loaded
 * after the page is shown, so a position is set again while the page grows.
 */

/** Maximum entries of the history whose positions are stored. */
const MAX_POSITIONS = 100;
/** How long the content of a page may take until its position is no longer restored. */
const PLACING_MS = 3_000;
const STORED = "portico.scroll";

let positions = new Map<string, number>();

/** Records positions from now on. @param currentEntry names the entry that is shown */
export function startScrollPositions(currentEntry: () => string): void {
  positions = read();
  addEventListener("scroll", () => recordScrollPosition(currentEntry()));
  // A reload comes back to these positions.
  addEventListener("pagehide", () => {
    try {
      sessionStorage.setItem(STORED, JSON.stringify([...positions].slice(-MAX_POSITIONS)));
    } catch {
      // The storage is full or not allowed. Then a reload starts at the top.
    }
  });
}

/** Records the position of the entry that is shown. */
export function recordScrollPosition(entry: string): void {
  if (placing !== undefined) return;
  positions.delete(entry);
  positions.set(entry, scrollY);
}

/** The last scroll position of an entry; undefined if it was not scrolled. */
export function scrollPositionOf(entry: string): number | undefined {
  return positions.get(entry);
}

let placing: AbortController | undefined;

/** Calls `place` each time the page grows, until the visitor acts or the page has had its time. */
export function keepPlaced(place: () => void): void {
  stopPlacing();
  const controller = new AbortController();
  const { signal } = controller;
  placing = controller;
  const observer = new ResizeObserver(place);
  observer.observe(document.body);
  signal.addEventListener("abort", () => observer.disconnect());
  for (const act of ["wheel", "touchstart", "pointerdown", "keydown"]) {
    addEventListener(act, stopPlacing, { signal, passive: true, capture: true });
  }
  const timer = setTimeout(stopPlacing, PLACING_MS);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

export function stopPlacing(): void {
  placing?.abort();
  placing = undefined;
}

function read(): Map<string, number> {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(STORED) ?? "[]"));
  } catch {
    return new Map();
  }
}
