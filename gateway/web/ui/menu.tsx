/**
 * A button with a menu of actions, such as "⋯" at the end of a row.
 * https://www.w3.org/WAI/ARIA/apg/patterns/menu-button/
 */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { MoreIcon } from "./icons.js";

export interface MenuItem {
  readonly label: string;
  readonly onSelect: () => void;
  /** Whether it destroys something. Such an item is red. */
  readonly danger?: boolean;
}

interface MenuProps {
  /** What the actions are for, such as `Actions for rule default`. Screen readers read it. */
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** The text of the button, instead of "⋯". */
  readonly children?: ComponentChildren;
}

type First = "first" | "last";

export function Menu({ label, items, children }: MenuProps) {
  const [open, setOpen] = useState<First>();
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const close = () => {
    setOpen(undefined);
    button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={children === undefined ? "button quiet icon" : "button quiet small"}
        aria-label={label}
        title={children === undefined ? label : undefined}
        aria-haspopup="menu"
        aria-expanded={open !== undefined}
        aria-controls={open && id}
        onClick={() => setOpen(open === undefined ? "first" : undefined)}
        onKeyDown={(event) => {
          const first = ({ ArrowDown: "first", ArrowUp: "last" } as const)[event.key];
          if (first === undefined) return;
          event.preventDefault();
          setOpen(first);
        }}
      >
        {children ?? <MoreIcon />}
      </button>
      {open !== undefined && (
        <Items id={id} label={label} items={items} first={open} button={button.current!} onClose={close} />
      )}
    </>
  );
}

interface ItemsProps extends MenuProps {
  readonly id: string;
  readonly first: First;
  readonly button: HTMLElement;
  readonly onClose: () => void;
}

function Items({ id, label, items, first, button, onClose }: ItemsProps) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const menu = element.current!;
    // In the top layer, no parent cuts the menu off, and it is above an open dialog.
    menu.showPopover();
    place(menu, button);
    itemsOf(menu)
      .at(first === "first" ? 0 : -1)
      ?.focus();
  }, []);
  useCloseOutside(element, button, onClose);
  return (
    <div
      ref={element}
      id={id}
      class="menu"
      role="menu"
      aria-label={label}
      popover="manual"
      onKeyDown={(event) => onKey(event, onClose)}
    >
      {items.map((item) => (
        <button
          key={item.label}
          type="button"
          role="menuitem"
          tabIndex={-1}
          class={item.danger ? "danger" : undefined}
          onClick={() => {
            // The focus is at the button first, so that a dialog returns it there.
            onClose();
            item.onSelect();
          }}
        >
          {item.label}
        </button>
      ))}
    </div>
  );
}

/** Closes the menu when the visitor clicks elsewhere, or what is below it moves. */
function useCloseOutside(
  element: { readonly current: HTMLElement | null },
  button: HTMLElement,
  onClose: () => void,
): void {
  const latest = useRef(onClose);
  latest.current = onClose;
  useEffect(() => {
    const stop = new AbortController();
    const closeIfOutside = ({ target }: Event) => {
      const inside = [element.current, button].some((part) => target instanceof Node && part?.contains(target));
      if (!inside) latest.current();
    };
    const options = { capture: true, signal: stop.signal };
    addEventListener("pointerdown", closeIfOutside, options);
    addEventListener("scroll", closeIfOutside, options);
    addEventListener("resize", () => latest.current(), options);
    return () => stop.abort();
  }, []);
}

function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
}

function onKey(event: KeyboardEvent, onClose: () => void): void {
  const items = itemsOf(event.currentTarget as HTMLElement);
  const at = items.indexOf(document.activeElement as HTMLElement);
  if (event.key === "Tab") {
    onClose();
    return;
  }
  const to = nextItem(event.key, at, items);
  if (event.key !== "Escape" && to === undefined) return;
  event.preventDefault();
  // Escape closes only the menu, and not the dialog around it.
  event.stopPropagation();
  if (event.key === "Escape") onClose();
  else items.at(to! % items.length)?.focus();
}

function nextItem(key: string, at: number, items: readonly HTMLElement[]): number | undefined {
  const moved = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[key];
  if (moved !== undefined || key.length !== 1 || key === " ") return moved;
  // A letter moves to the next item that starts with it.
  const startsWithKey = ({ textContent }: HTMLElement) => textContent?.toLowerCase().startsWith(key.toLowerCase());
  const found = [...items.slice(at + 1), ...items.slice(0, at + 1)].find(startsWithKey);
  return found && items.indexOf(found);
}

/** Pixels between the menu and the button, and at least between the menu and the window's edge. */
const GAP = 4;

/** Below the button and with the same right edge, or where the window has space. */
function place(menu: HTMLElement, button: HTMLElement): void {
  const anchor = button.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const below = anchor.bottom + GAP;
  const top = below + height + GAP <= clientHeight ? below : anchor.top - GAP - height;
  const within = (at: number, size: number, whole: number) => Math.max(GAP, Math.min(at, whole - size - GAP));
  menu.style.left = `${within(anchor.right - width, width, clientWidth)}px`;
  menu.style.top = `${within(top, height, clientHeight)}px`;
}
