/** Tabs. Arrow keys, Home and End choose one (https://www.w3.org/WAI/ARIA/apg/patterns/tabs/). */
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { useKeptFocus } from "../state/focus.js";

export interface Tab {
  readonly id: string;
  readonly title: string;
}

interface TabsProps {
  /** What the tabs choose between, for screen readers. */
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly selected: string;
  readonly onSelect: (id: string) => void;
  readonly children: ComponentChildren;
}

export function Tabs({ label, tabs, selected, onSelect, children }: TabsProps) {
  const prefix = useId();
  const element = useRef<HTMLDivElement>(null);
  useKeptFocus(element, "[role=tab][aria-selected=true]");
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ id }) => id === selected);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const index = (next + tabs.length) % tabs.length;
    onSelect(tabs[index]!.id);
    element.current?.querySelectorAll<HTMLElement>("[role=tab]")[index]?.focus();
  };
  return (
    <div class="tabs" ref={element}>
      <div class="tab-list" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map(({ id, title }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`${prefix}-${id}`}
            aria-selected={id === selected}
            aria-controls={`${prefix}-panel`}
            tabIndex={id === selected ? 0 : -1}
            onClick={() => onSelect(id)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${prefix}-panel`} aria-labelledby={`${prefix}-${selected}`} class="tab-panel">
        {children}
      </div>
    </div>
  );
}
