/**
 * The control of a bytes field: base64 that is typed, or a file that is chosen, dropped or pasted.
 * Long base64 is folded to what it is.
 */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button } from "../ui/button.js";
import type { ControlProps } from "../ui/field.js";
import { bytesOf, mediaOf, sizeInWords } from "./media.js";

interface BytesControlProps {
  readonly control: ControlProps;
  /** An example; empty for none. */
  readonly placeholder: string;
  /** Base64; empty for none. */
  readonly value: string;
  readonly onChange: (value: string | undefined) => void;
}

/** Base64 that is longer is folded. Nobody types so much. */
const FOLDED = 256;
/** Maximum bytes of a file. A gateway takes requests of 4 MB, unless it is configured otherwise. */
const MAX_FILE = 2 * 1024 * 1024;
/** Maximum characters of base64: a file of that size, and line breaks. */
const MAX_BASE64 = 1.5 * MAX_FILE;

export function BytesControl({ control, placeholder, value, onChange }: BytesControlProps) {
  const chooser = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string>();
  const take = useFile(onChange, setProblem);
  const dropping = useDropping(take, setProblem);
  const isFolded = value.length > FOLDED;
  const summary = useMemo(() => (isFolded ? summaryOf(value) : ""), [isFolded, value]);
  const set = (next: string | undefined) => {
    setProblem(undefined);
    onChange(next);
  };
  return (
    <div class={dropping.over ? "bytes-control over" : "bytes-control"} {...dropping.handlers}>
      <input
        {...control}
        value={isFolded ? summary : value}
        readOnly={isFolded}
        placeholder={placeholder || "base64, or drop a file here"}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        onInput={(event) => set(event.currentTarget.value || undefined)}
      />
      {isFolded && (
        <Button small kind="quiet" onClick={() => set(undefined)}>
          Remove
        </Button>
      )}
      <Button small onClick={() => chooser.current?.click()}>
        Choose a file
      </Button>
      <input
        type="file"
        hidden
        ref={chooser}
        onChange={({ currentTarget }) => {
          take(currentTarget.files?.[0]);
          // The same file may be chosen again after it was removed.
          currentTarget.value = "";
        }}
      />
      {problem !== undefined && (
        <p class="error" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

/** Handlers that take a file that is dropped or pasted. `over` is true while one is held above. */
function useDropping(take: (file: File | undefined) => void, onProblem: (problem: string) => void) {
  const [over, setOver] = useState(false);
  const handlers = {
    onDragOver: (event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      take(event.dataTransfer?.files[0]);
    },
    onPaste: (event: ClipboardEvent) => {
      const file = event.clipboardData?.files[0];
      const { length } = event.clipboardData?.getData("text") ?? "";
      if (length > MAX_BASE64) {
        event.preventDefault();
        onProblem(
          `What was pasted has ${sizeInWords(length)}. A field in this form may have ${sizeInWords(MAX_BASE64)}. Send more from code.`,
        );
      }
      if (file === undefined) return;
      event.preventDefault();
      take(file);
    },
  };
  return { over, handlers };
}

function summaryOf(base64: string): string {
  const bytes = bytesOf(base64);
  return bytes === undefined ? `${base64.length} characters that are not base64` : mediaOf(bytes).summary;
}

/** Reads a file into the field. Of two files, the one that was given last counts. */
function useFile(onChange: (value: string) => void, onProblem: (problem: string | undefined) => void) {
  // What is typed elsewhere while the file is read stays.
  const latest = useRef(onChange);
  useLayoutEffect(() => {
    latest.current = onChange;
  });
  const last = useRef<File>(undefined);
  return async (file: File | undefined) => {
    if (file === undefined) return;
    last.current = file;
    onProblem(undefined);
    if (file.size > MAX_FILE) {
      return onProblem(
        `${file.name} has ${sizeInWords(file.size)}. A file in this form may have ${sizeInWords(MAX_FILE)}. Send a larger one from code.`,
      );
    }
    try {
      const base64 = base64Of(await readFile(file));
      if (last.current === file) latest.current(base64);
    } catch {
      onProblem(`${file.name} could not be read. If it is a folder, choose a file in it.`);
    }
  };
}

/** The address of a file's content: `data:…;base64,…`. @throws {DOMException} */
function readFile(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

function base64Of(address: string): string {
  return address.slice(address.indexOf(",") + 1);
}
