import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { keepFocus } from "../state/focus.js";
import { useStay } from "../state/router.js";
import { CloseIcon } from "./icons.js";
import { Status } from "./status.js";

interface DialogProps {
  readonly title: string;
  /** Something that it asked for is under way, whose answer it must be there for: meanwhile nothing closes it. */
  readonly busy?: boolean;
  /** What it shows cannot be had again: leaving the page does not close it either, and asks for closing it. */
  readonly shownOnce?: boolean;
  /** By Escape, the cross, or, as long as nothing was typed, a click beside it. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/**
 * A dialog for as long as it is drawn. The browser makes the rest of the page inert, keeps the focus inside and gives
 * it back afterwards (https://html.spec.whatwg.org/multipage/interactive-elements.html#dom-dialog-showmodal).
 */
export function Dialog({ title, busy = false, shownOnce = false, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useRef(false);
  const id = useId();
  const close = () => busy || onClose();
  const show = () => {
    dialog.current?.showModal();
    // Where there is something to fill in, one begins there and not at the cross.
    dialog.current?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  };
  useStay(busy || shownOnce, close);
  useLayoutEffect(() => {
    const shown = dialog.current;
    show();
    return () => {
      // Gives the focus back, which nothing behind it can have before; so it is closed while it is still in the document.
      shown?.close();
      keepFocus(shown);
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onInput={() => {
        typed.current = true;
      }}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      // A browser closes a dialog at the second Escape, whatever the page says to the first.
      onClose={show}
      onMouseDown={(event) => event.target === dialog.current && !typed.current && close()}
    >
      <div class="dialog-content">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="button quiet icon" aria-label="Close" disabled={busy} onClick={close}>
            <CloseIcon />
          </button>
        </header>
        {children}
      </div>
      <Status />
    </dialog>
  );
}
