/**
 * Addresses and pages. Links are real <a href>: a click on one to a page of ours changes the address and draws that
 * page, without loading a document. Everything else (a modifier key, another target, a download) is the browser's.
 */
import { useEffect } from "preact/hooks";
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
  addEventListener("popstate", () => path.set(location.pathname));
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

function arrive(): void {
  path.set(location.pathname);
  scrollTo(0, 0);
  // As after loading a document, the keyboard goes on from the top of the new page.
  document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
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
