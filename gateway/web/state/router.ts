/**
 * The address in the browser, and the page that it names. A click on a link to a page of Portico
 * changes the address and draws that page, without loading a document. The browser handles every
 * other click: with a modifier key, to another target, or for a download.
 */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { focusPage } from "./focus.js";
import { Store, useStore } from "./store.js";

/** The properties of the page of a part, such as explore. */
export interface PageProps {
  /** The address below the part, decoded: `["helloworld"]` for `/explore/helloworld`. */
  readonly segments: readonly string[];
}

const path = new Store(location.pathname);

/** The path of the page that is shown, such as `/explore/helloworld`. */
export function usePath(): string {
  return useStore(path);
}

export function navigate(to: string): void {
  history.pushState(null, "", to);
  arrive();
}

/**
 * Starts to handle clicks on links, and the browser's back and forward buttons. It must be called
 * once.
 */
export function startRouter(): void {
  addEventListener("popstate", () => {
    if (staying.size === 0) return path.set(location.pathname);
    history.pushState(null, "", path.value);
    for (const notify of staying) notify();
  });
  document.addEventListener("click", (event) => {
    const to = ownLink(event);
    if (to === undefined) return;
    event.preventDefault();
    if (to !== location.pathname + location.search) navigate(to);
  });
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

function arrive(): void {
  path.set(location.pathname);
  scrollTo(0, 0);
  focusPage();
}

const PAGES = /^\/(?:explore|console)(?:\/|$)/;

function ownLink(event: MouseEvent): string | undefined {
  if (event.defaultPrevented || event.button !== 0) return undefined;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return undefined;
  const link = (event.target as Element).closest?.("a");
  if (link === null || link === undefined || link.target !== "" || link.hasAttribute("download")) return undefined;
  const { origin, pathname, search, hash } = new URL(link.href);
  return origin === location.origin && PAGES.test(pathname) && hash === "" ? pathname + search : undefined;
}
