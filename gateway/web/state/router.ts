/**
 * Addresses and pages. Links are real <a href>: a click on one to a page of ours changes the address and draws that
 * page, without loading a document. Everything else (a modifier key, another target, a download) is the browser's.
 */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Store, useStore } from "./store.js";

const path = new Store(location.pathname);

/** The path of the page that is shown, such as `/explore/helloworld`. */
export function usePath(): string {
  return useStore(path);
}

export function navigate(to: string): void {
  history.pushState(null, "", to);
  arrive();
}

/** Begins to follow links and the browser's own back and forward. To be called once. */
export function startRouter(): void {
  addEventListener("popstate", () => {
    if (staying.size === 0) return path.set(location.pathname);
    history.pushState(null, "", path.value);
    for (const tell of staying) tell();
  });
  document.addEventListener("click", (event) => {
    const to = ownLink(event);
    if (to === undefined) return;
    event.preventDefault();
    if (to !== location.pathname + location.search) navigate(to);
  });
}

/** Shown in the tab and read first by screen readers after a change of page. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Portico`;
  }, [title]);
}

const staying = new Set<() => void>();

/**
 * For as long as `stay`, the browser's back and forward lead nowhere and call `onTried`, and before the document is
 * left the browser asks: what is shown could not be had again.
 */
export function useStay(stay: boolean, onTried: () => void): void {
  const latest = useRef(onTried);
  latest.current = onTried;
  useLayoutEffect(() => {
    if (!stay) return;
    const tell = () => latest.current();
    const ask = (event: Event) => event.preventDefault();
    staying.add(tell);
    addEventListener("beforeunload", ask);
    return () => {
      staying.delete(tell);
      removeEventListener("beforeunload", ask);
    };
  }, [stay]);
}

/** Where what had the focus is gone, or is in what goes now, the keyboard goes on from the top of the page. */
export function keepFocus(going?: Element | null): void {
  const { activeElement } = document;
  if (activeElement === document.body || going?.contains(activeElement)) focusPage();
}

function focusPage(): void {
  document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
}

function arrive(): void {
  path.set(location.pathname);
  scrollTo(0, 0);
  // As after loading a document.
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
