/**
 * A modal dialog, open for as long as it is drawn. The browser makes the rest of the page inert,
 * keeps the focus inside, and returns it afterwards.
 * https://html.spec.whatwg.org/multipage/interactive-elements.html#dom-dialog-showmodal
 */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { keepFocus } from "../state/focus.js";
import { useStay } from "../state/router.js";
import { Button } from "./button.js";
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
   * Called for Escape, for the close button, and for a click beside the dialog. If something was
   * typed, the dialog asks first, and ignores a click beside it.
   */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, busy = false, shownOnce = false, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useRef(false);
  const id = useId();
  const [asking, setAsking] = useState(false);
  const leave = () => busy || onClose();
  const close = () => {
    if (typed.current && !busy) setAsking(true);
    else leave();
  };
  const show = () => {
    dialog.current?.showModal();
    // The focus starts at the first control, if there is one, and not at the close button.
    dialog.current?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  };
  useStay(busy || shownOnce, leave);
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
        {asking && <Unsaved onStay={() => setAsking(false)} onLeave={leave} />}
        {children}
      </div>
      <Status />
    </dialog>
  );
}

interface UnsavedProps {
  readonly onStay: () => void;
  readonly onLeave: () => void;
}

/** Asks before what was typed is lost. */
function Unsaved({ onStay, onLeave }: UnsavedProps) {
  const stay = useRef<HTMLParagraphElement>(null);
  const before = useRef(document.activeElement);
  useLayoutEffect(() => {
    stay.current?.querySelector("button")?.focus();
    return () => (before.current as HTMLElement | null)?.focus();
  }, []);
  return (
    <div class="notice warning" role="alert">
      <p>What you typed here is lost when the dialog closes.</p>
      <p class="actions" ref={stay}>
        <Button small onClick={onStay}>
          Go on typing
        </Button>
        <Button small kind="danger" onClick={onLeave}>
          Close
        </Button>
      </p>
    </div>
  );
}
