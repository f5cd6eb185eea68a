/**
 * The address in the browser, and the page that it names. A click on a link to a page of Portico
 * changes the address and draws that page, without loading a document. The browser handles every
 * other click: with a modifier key, to another target, or for a download.
 */
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { focusPage } from "./focus.js";
import { keepPlaced, recordScrollPosition, scrollPositionOf, startScrollPositions, stopPlacing } from "./scroll.js";
import { Store, useStore } from "./store.js";

/** The properties of the page of a part, such as explore. */
export interface PageProps {
  /** The address below the part, decoded: `["helloworld"]` for `/explore/helloworld`. */
  readonly segments: readonly string[];
}

const path = new Store(location.pathname);
const query = new Store(location.search);
const entry = new Store("");
let fragment = location.hash;

/** The path of the page that is shown, such as `/explore/helloworld`. */
export function usePath(): string {
  return useStore(path);
}

/** The query of the address, such as `filter=orders`. */
export function useQuery(): URLSearchParams {
  const text = useStore(query);
  return useMemo(() => new URLSearchParams(text), [text]);
}

/**
 * Names the entry of the browser's history that is shown. Reload and Back do not change the name.
 */
export function useEntry(): string {
  return useStore(entry);
}

/** Whether the entry of the history with this name is shown, also before its page is drawn. */
export function isShown(name: string): boolean {
  return name === entry.value;
}

/** Opens a page. @param to its path, which may have a query and a fragment */
export function navigate(to: string): void {
  // The event of the last scrolling may come only after this.
  recordScrollPosition(entry.value);
  entry.set(newEntry());
  history.pushState({ entry: entry.value }, "", to);
  readAddress();
  scrollTo(0, 0);
  focusPage();
  if (location.hash !== "") showTarget();
  else stopPlacing();
}

/**
 * Changes the query or fragment of the page that is shown. The page stays as it is, and Back leads
 * to the page before.
 */
export function replaceAddress(to: string): void {
  history.replaceState({ entry: entry.value }, "", to);
  readAddress();
}

/**
 * Starts to handle clicks on links, and the browser's back and forward buttons. It must be called
 * once.
 */
export function startRouter(): void {
  // The browser restores a scroll position before the content of the page has been loaded.
  history.scrollRestoration = "manual";
  startScrollPositions(() => entry.value);
  enter();
  addEventListener("popstate", () => {
    if (staying.size === 0) return enter();
    history.pushState({ entry: entry.value }, "", path.value + query.value + fragment);
    for (const notify of staying) notify();
  });
  document.addEventListener("click", (event) => {
    const to = ownLink(event);
    if (to === undefined) return;
    const { pathname, search, hash } = to;
    const isHere = pathname === location.pathname && search === location.search;
    const target = isHere ? targetOf(hash) : null;
    event.preventDefault();
    // The address stays as it is, because its fragment may have the request that was typed.
    if (target !== null) showElement(target);
    else if (!isHere || (hash !== "" && hash !== location.hash)) navigate(pathname + search + hash);
  });
}

/** Shows the page of the entry of the history that the browser has chosen. */
function enter(): void {
  const state: { readonly entry?: unknown } | null = history.state;
  const known = typeof state?.entry === "string" ? state.entry : undefined;
  const shown = known ?? newEntry();
  if (known === undefined) history.replaceState({ entry: shown }, "");
  entry.set(shown);
  readAddress();
  const top = scrollPositionOf(shown);
  if (top !== undefined) keepPlaced(() => scrollTo(0, top));
  else if (location.hash !== "") showTarget();
}

function newEntry(): string {
  return `${Date.now()}-${Math.random()}`;
}

function readAddress(): void {
  path.set(location.pathname);
  query.set(location.search);
  fragment = location.hash;
}

/** Shows the element that the fragment names, once it has been drawn. */
function showTarget(): void {
  let isShown = false;
  keepPlaced(() => {
    const target = targetOf(location.hash);
    if (target !== null && !isShown) showElement(target);
    isShown ||= target !== null;
  });
}

function targetOf(hash: string): HTMLElement | null {
  return hash === "" ? null : document.getElementById(hash.slice(1));
}

function showElement(target: HTMLElement): void {
  target.scrollIntoView();
  target.focus({ preventScroll: true });
}

/** Sets the document's title, which screen readers read first after a change of page. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Portico`;
  }, [title]);
}

/** Functions to call instead of leaving the page. */
const staying = new Set<() => void>();

/**
 * Keeps the visitor on a page that cannot be shown again. While `stay` is true, the back and
 * forward buttons call `onTried` instead, and the browser asks before it leaves the document.
 */
export function useStay(stay: boolean, onTried: () => void): void {
  const latest = useRef(onTried);
  latest.current = onTried;
  useLayoutEffect(() => {
    if (!stay) return;
    const notify = () => latest.current();
    const ask = (event: Event) => event.preventDefault();
    staying.add(notify);
    addEventListener("beforeunload", ask);
    return () => {
      staying.delete(notify);
      removeEventListener("beforeunload", ask);
    };
  }, [stay]);
}

const PAGES = /^\/(?:$|(?:explore|connect|console)(?:\/|$))/;

function ownLink(event: MouseEvent): URL | undefined {
  if (event.defaultPrevented || event.button !== 0) return undefined;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return undefined;
  const link = (event.target as Element).closest?.("a");
  if (link === null || link === undefined || link.target !== "" || link.hasAttribute("download")) return undefined;
  const url = new URL(link.href);
  return url.origin === location.origin && PAGES.test(url.pathname) ? url : undefined;
}
