/** The search over every page, opened by Ctrl+K. */
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { MAX_LISTED } from "../console/authority.js";
import { session } from "../session/session.js";
import { keepFocus } from "../state/focus.js";
import { navigate } from "../state/router.js";
import { type Entry, type Everything, lastRead, readEverything } from "./entries.js";
import { find } from "./find.js";

/** Maximum entries that are shown. The line below them says how many there are. */
const MAX_SHOWN = 50;
const MAX_LATEST = 8;

/** What was chosen, the latest first. Not stored elsewhere: it has names of accounts and keys. */
let latest: readonly Entry[] = [];
session.follow(() => {
  latest = [];
});

const isSame = (one: Entry, other: Entry) =>
  one.kind === other.kind && one.title === other.title && one.detail === other.detail;

export interface PaletteProps {
  /** What was typed before the search was there. */
  readonly typed: string;
  readonly onClose: () => void;
}

export default function Palette({ typed, onClose }: PaletteProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { everything, shown, total, setQuery, current, setCurrent } = useSearch(typed);
  const id = useId();
  const optionId = (index: number) => `${id}-${index}`;
  const isGone = useModal(dialog);
  useLayoutEffect(() => {
    document.getElementById(optionId(current))?.scrollIntoView({ block: "nearest" });
  }, [current, shown]);
  const choose = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    latest = [entry, ...latest.filter((one) => !isSame(one, entry))].slice(0, MAX_LATEST);
    // The focus first returns to the page, so that what is chosen may move it.
    dialog.current?.close();
    if (typeof entry.to === "string") navigate(entry.to);
    else entry.to();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = moved(event.key, current, shown.length);
    if (event.key === "Enter" && !event.isComposing) choose(shown[current]);
    else if (event.key === "Tab") return event.preventDefault();
    else if (to === undefined) return;
    else setCurrent(to);
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Search"
      // The event close comes later, when Ctrl+K may have opened the search again.
      onCancel={onClose}
      onClose={() => isGone.current || onClose()}
      onMouseDown={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <Combobox
        typed={typed}
        listId={id}
        active={shown.length > 0 ? optionId(current) : undefined}
        onInput={setQuery}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={id} aria-label="Found" class="palette-list">
        {shown.map((entry, index) => (
          <Option
            key={`${entry.kind} ${entry.title} ${entry.detail}`}
            id={optionId(index)}
            entry={entry}
            selected={index === current}
            onChoose={() => choose(entry)}
          />
        ))}
      </div>
      <p class="hint" role="status">
        {summaryOf(everything, shown.length, total)}
      </p>
    </dialog>
  );
}

interface ComboboxProps {
  readonly typed: string;
  readonly listId: string;
  /** The id of the current option, if there is one. */
  readonly active: string | undefined;
  readonly onInput: (text: string) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function Combobox({ typed, listId, active, onInput, onKeyDown }: ComboboxProps) {
  return (
    <input
      type="text"
      role="combobox"
      aria-label="Search services, endpoints, fields, accounts, keys, rules, pages and actions"
      aria-autocomplete="list"
      aria-expanded={active !== undefined}
      aria-controls={listId}
      aria-activedescendant={active}
      placeholder="Search everything"
      autocomplete="off"
      spellcheck={false}
      defaultValue={typed}
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={onKeyDown}
    />
  );
}

function useSearch(typed: string) {
  const [everything, setEverything] = useState(lastRead);
  const [query, setText] = useState(typed);
  const [current, setCurrent] = useState(0);
  useEffect(() => {
    let gone = false;
    readEverything().then((read) => gone || setEverything(read));
    return () => {
      gone = true;
    };
  }, []);
  const { entries: shown, total } = useMemo(() => {
    if (everything === undefined) return { entries: [], total: 0 };
    if (query.trim() === "") {
      const first = everything.index.entries.filter(({ kind }) => kind !== "Field").slice(0, MAX_SHOWN);
      const others = first.filter((entry) => !latest.some((one) => isSame(one, entry)));
      return { entries: [...latest, ...others].slice(0, MAX_SHOWN), total: everything.index.entries.length };
    }
    return find(everything.index, query, MAX_SHOWN);
  }, [everything, query]);
  const setQuery = (text: string) => {
    setText(text);
    setCurrent(0);
  };
  return { everything, shown, total, setQuery, current, setCurrent };
}

/** The entry to which a key moves; undefined for other keys. */
function moved(key: string, current: number, count: number): number | undefined {
  if (count === 0) return undefined;
  switch (key) {
    case "ArrowDown":
      return (current + 1) % count;
    case "ArrowUp":
      return (current + count - 1) % count;
    case "PageDown":
      return Math.min(current + 8, count - 1);
    case "PageUp":
      return Math.max(current - 8, 0);
    default:
      return undefined;
  }
}

function summaryOf(everything: Everything | undefined, shown: number, total: number): string {
  if (everything === undefined) return "Reading what there is";
  const { missing, cut } = everything;
  const unread = missing.length === 0 ? "" : `. Without ${missing.join(" and ")}, which could not be read`;
  const rest = cut.length === 0 ? "" : `. Of the ${cut.join(" and ")} only the first ${MAX_LISTED.toLocaleString()}`;
  const gap = unread + rest;
  if (shown === 0) return `Nothing found${gap}. Try fewer letters.`;
  if (total > shown) return `${shown} of ${total.toLocaleString()}. Type more to find the others${gap}.`;
  return `${total} found${gap}`;
}

interface OptionProps {
  readonly id: string;
  readonly entry: Entry;
  readonly selected: boolean;
  readonly onChoose: () => void;
}

/** The keyboard stays in the field, so an option has no focus. */
function Option({ id, entry: { kind, title, detail }, selected, onChoose }: OptionProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys of a combobox
    <div role="option" tabIndex={-1} id={id} aria-selected={selected} class="palette-option" onClick={onChoose}>
      <span class={`palette-title ${kind === "Page" || kind === "Action" ? "" : "mono"}`}>{title}</span>
      <span class="palette-detail">{detail}</span>
      <span class="palette-kind">{kind}</span>
    </div>
  );
}

/** The browser makes the rest of the page inert, and returns the focus to it afterwards. */
/** Shows a dialog until its component is removed. Returns whether it has been removed. */
function useModal(dialog: { readonly current: HTMLDialogElement | null }): { readonly current: boolean } {
  const isGone = useRef(false);
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    const field = shown?.querySelector("input");
    field?.focus();
    field?.setSelectionRange(field.value.length, field.value.length);
    return () => {
      isGone.current = true;
      shown?.close();
      keepFocus(shown);
    };
  }, []);
  return isGone;
}
