/**
 * Search everywhere: a button in the header, Ctrl+K, and / where nothing is typed. What it opens is
 * loaded when it is first opened.
 */
import type { ComponentType } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PaletteProps } from "./palette/palette.js";
import { SearchIcon } from "./ui/icons.js";
import { announce } from "./ui/status.js";

type Palette = ComponentType<PaletteProps>;

export function SearchButton() {
  const [open, setOpen] = useState(false);
  const [Palette, setPalette] = useState<Palette>();
  const typed = useRef("");
  const close = () => {
    typed.current = "";
    setOpen(false);
  };
  useKeysMeanwhile(open && Palette === undefined, typed, close);
  const show = async () => {
    setOpen(true);
    try {
      const module = await import("./palette/palette.js");
      setPalette(() => module.default);
    } catch {
      close();
      announce("The search could not be loaded. Load the page again.", "bad");
    }
  };
  // Not after the first frame: a key may come as soon as the page is there.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || !isKeyOfSearch(event)) return;
      event.preventDefault();
      // A dialog may have text that was typed.
      if (document.querySelector("dialog[open]") === null) show();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <button
        type="button"
        class="button small search-button"
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K /"
        onClick={show}
      >
        <SearchIcon /> <span>Search</span> <kbd>{/Mac|iP/.test(navigator.platform) ? "⌘" : "Ctrl"} K</kbd>
      </button>
      {open && Palette && <Palette typed={typed.current} onClose={close} />}
    </>
  );
}

/** What is typed while the search is being loaded. */
function useKeysMeanwhile(loading: boolean, typed: { current: string }, onEscape: () => void): void {
  useLayoutEffect(() => {
    if (!loading) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") onEscape();
      else if (event.key === "Backspace") typed.current = typed.current.slice(0, -1);
      else if (event.key.length === 1) typed.current += event.key;
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    addEventListener("keydown", onKey, { capture: true });
    return () => removeEventListener("keydown", onKey, { capture: true });
  }, [loading]);
}

function isKeyOfSearch({ key, target, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  if (altKey) return false;
  if (key.toLowerCase() === "k") return (ctrlKey || metaKey) && !shiftKey;
  const typing = (target as Element).closest?.("input, textarea, select, [contenteditable]");
  return key === "/" && !ctrlKey && !metaKey && !typing;
}
