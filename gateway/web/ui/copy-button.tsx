/** A button that copies a text to the clipboard. */
import { useEffect, useState } from "preact/hooks";
import { Button } from "./button.js";
import { CheckIcon, CopyIcon } from "./icons.js";
import { announce } from "./status.js";

interface CopyButtonProps {
  readonly text: string;
  /** What is copied, such as `the key`, for screen readers. */
  readonly what: string;
  readonly autofocus?: boolean;
}

const DONE_MS = 2_000;

export function CopyButton({ text, what, autofocus }: CopyButtonProps) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), DONE_MS);
    return () => clearTimeout(timer);
  }, [done]);
  const onClick = async () => {
    const copied = await copy(text);
    setDone(copied);
    if (!copied) announce("The browser did not let the page copy. Select the text and copy it yourself.", "bad");
    else announce(`Copied ${what}`);
  };
  return (
    <Button small kind="quiet" autofocus={autofocus} onClick={onClick} aria-label={`Copy ${what}`}>
      {done ? <CheckIcon /> : <CopyIcon />}
      {done ? "Copied" : "Copy"}
    </Button>
  );
}

/** Copies a text to the clipboard. Returns whether the browser allowed it. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/**
 * Copies without the clipboard. Browsers have no clipboard for pages over plain HTTP, except for
 * pages of the same computer.
 */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.className = "hidden";
  // Inside an open dialog, because text outside it cannot be selected.
  const place = document.querySelector("dialog[open]") ?? document.body;
  place.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
}
