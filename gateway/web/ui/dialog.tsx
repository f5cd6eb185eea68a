/**
 * A modal dialog, open for as long as it is drawn. The browser makes the rest of the page inert, keeps the focus
 * inside, and gives it back afterwards
 * (https://html.spec.whatwg.org/multipage/interactive-elements.html#dom-dialog-showmodal).
 */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { keepFocus } from "../state/focus.js";
import { useStay } from "../state/router.js";
import { CloseIcon } from "./icons.js";
import { Status } from "./status.js";

interface DialogProps {
  readonly title: string;
  /** Whether its action is running: until then nothing closes the dialog. */
  readonly busy?: boolean;
  /** Whether its content cannot be shown again: then leaving the page calls onClose instead of closing it. */
  readonly shownOnce?: boolean;
  /** Called for Escape, the cross, and, as long as nothing was typed, a click beside the dialog. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, busy = false, shownOnce = false, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useRef(false);
  const id = useId();
  const close = () => busy || onClose();
  const show = () => {
    dialog.current?.showModal();
    // The focus starts at the first control, if there is one, and not at the cross.
    dialog.current?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  };
  useStay(busy || shownOnce, close);
  useLayoutEffect(() => {
    const shown = dialog.current;
    show();
    return () => {
      // Closed before it is removed: only then does the browser give the focus back to the page.
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
