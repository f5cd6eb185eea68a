import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { CloseIcon } from "./icons.js";

interface DialogProps {
  readonly title: string;
  /** By Escape, the cross, or a click beside it. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/**
 * A dialog for as long as it is drawn. The browser makes the rest of the page inert, keeps the focus inside and gives
 * it back afterwards (https://html.spec.whatwg.org/multipage/interactive-elements.html#dom-dialog-showmodal).
 */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // Where there is something to fill in, one begins there and not at the cross.
    shown?.querySelector<HTMLElement>("input, select, textarea")?.focus();
    // Gives the focus back, which nothing behind it can have before; so it is closed while it is still in the document.
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => event.target === dialog.current && onClose()}
    >
      <div class="dialog-content">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
            <CloseIcon />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
