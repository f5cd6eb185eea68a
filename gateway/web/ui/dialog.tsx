/**
 * A modal dialog, open for as long as it is drawn. The browser makes the rest of the page inert,
 * keeps the focus inside, and returns it afterwards.
 * https://html.spec.whatwg.org/multipage/interactive-elements.html#dom-dialog-showmodal
 */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { keepFocus } from "../state/focus.js";
import { useStay } from "../state/router.js";
import { CloseIcon } from "./icons.js";
import { Status } from "./status.js";

interface DialogProps {
  readonly title: string;
  /** Whether its action is running. Until it ends, nothing closes the dialog. */
  readonly busy?: boolean;
  /**
   * Whether its content cannot be shown again. If so, an attempt to leave the page calls onClose,
   * and the dialog stays.
   */
  readonly shownOnce?: boolean;
  /**
   * Called for Escape, for the close button, and, if nothing was typed, for a click beside the
   * dialog.
   */
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
    // The focus starts at the first control, if there is one, and not at the close button.
    dialog.current?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  };
  useStay(busy || shownOnce, close);
  useLayoutEffect(() => {
    const shown = dialog.current;
    show();
    return () => {
      // The dialog is closed before it is removed, because only then does the browser return the
      // focus to the page.
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
      // A browser closes a dialog at the second Escape, even if the page prevented the first.
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
