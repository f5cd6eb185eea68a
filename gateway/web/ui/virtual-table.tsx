/**
 * A table for thousands of rows, all of one height. Only those in sight, and some beside them, are
 * in the document; `aria-rowcount` and `aria-rowindex` tell the others. One row can be reached with
 * Tab; the arrow keys, Page Up, Page Down, Home and End move from there.
 * https://www.w3.org/TR/wai-aria-1.2/#aria-rowcount
 */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Column } from "./table.js";

export type Direction = "ascending" | "descending";

export interface Sorting {
  readonly title: string;
  readonly direction: Direction;
}

interface VirtualTableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Undefined while the rows are in their own order. */
  readonly sorting?: Sorting | undefined;
  /** Makes the titles of all columns but the last buttons. */
  readonly onSort?: (title: string) => void;
  /** A class for the widths of the columns. */
  readonly look?: string;
}

/** The height of a row, until one has been measured, in pixels. */
const ROW = 40;
/** Rows above and below those in sight that are in the document too. */
const BESIDE = 8;

export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { caption, columns, rows, rowKey, sorting, onSort, look = "" } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const { first, end, row, scrollTo } = useWindow(scroller, rows.length);
  const { current, onKeyDown, onFocus } = useCurrent(scroller, rows.length, scrollTo);
  const shown = rows.slice(first, end);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard too
    <section class={`table-window ${look}`} ref={scroller} tabIndex={0} aria-label={caption}>
      <table class="table virtual" aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column, index) => (
              <Title
                key={column.title}
                {...{ column, sorting }}
                onSort={index < columns.length - 1 ? onSort : undefined}
              />
            ))}
          </tr>
        </thead>
        <tbody onKeyDownCapture={onKeyDown} onFocusIn={onFocus}>
          <Spacer height={first * row} columns={columns.length} />
          {shown.map((item, index) => (
            <tr
              key={rowKey(item)}
              aria-rowindex={first + index + 2}
              data-index={first + index}
              data-current={first + index === current || undefined}
            >
              {columns.map(({ title, cell, numeric }, at) => (
                <Cell key={title} isName={at === 0} {...{ title, numeric }}>
                  {cell(item)}
                </Cell>
              ))}
            </tr>
          ))}
          <Spacer height={(rows.length - end) * row} columns={columns.length} />
        </tbody>
      </table>
    </section>
  );
}

interface TitleProps {
  readonly column: Pick<Column<never>, "title" | "numeric">;
  readonly sorting: Sorting | undefined;
  readonly onSort: ((title: string) => void) | undefined;
}

function Title({ column: { title, numeric }, sorting, onSort }: TitleProps) {
  const direction = sorting?.title === title ? sorting.direction : undefined;
  return (
    <th scope="col" class={numeric ? "numeric" : undefined} aria-sort={onSort && (direction ?? "none")}>
      {onSort === undefined ? (
        title
      ) : (
        <button type="button" class="sort" onClick={() => onSort(title)}>
          {title}
          <span aria-hidden="true">{direction === undefined ? "" : direction === "ascending" ? " ↑" : " ↓"}</span>
        </button>
      )}
    </th>
  );
}

interface CellProps {
  readonly title: string;
  readonly isName: boolean;
  readonly numeric: boolean | undefined;
  readonly children: ComponentChildren;
}

function Cell({ title, isName, numeric, children }: CellProps) {
  if (isName) return <th scope="row">{children}</th>;
  return (
    <td data-label={title} class={numeric ? "numeric" : undefined}>
      {children}
    </td>
  );
}

/** Takes the place of the rows that are not in the document. */
function Spacer({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height === 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: this row cannot be focused.
    <tr class="spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}

/** The rows that are in the document: from `first` to before `end`. */
function useWindow(scroller: RefObject<HTMLElement | null>, count: number) {
  const [place, setPlace] = useState({ top: 0, height: 800, row: ROW });
  useLayoutEffect(() => {
    const { current } = scroller;
    if (current === null) return;
    const measure = () => {
      const row = current.querySelector<HTMLElement>("tr[data-index]")?.offsetHeight || ROW;
      const { scrollTop: top, clientHeight: height } = current;
      setPlace((before) =>
        before.top === top && before.height === height && before.row === row ? before : { top, height, row },
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    current.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      current.removeEventListener("scroll", measure);
    };
  }, [count]);
  const { top, height, row } = place;
  const first = Math.max(0, Math.min(Math.floor(top / row), count - Math.ceil(height / row)) - BESIDE);
  const end = Math.min(count, first + Math.ceil(height / row) + 2 * BESIDE);
  const scrollTo = (index: number) => {
    const { current } = scroller;
    if (current === null) return;
    const head = current.querySelector("thead")?.clientHeight ?? 0;
    const above = index * row;
    const below = above + row + head - current.clientHeight;
    current.scrollTop = Math.max(below, Math.min(current.scrollTop, above));
    setPlace((before) => ({ ...before, top: current.scrollTop }));
  };
  return { first, end, row, scrollTo };
}

/** How far a key moves: rows, or to the beginning or end. */
const MOVES: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** The row that Tab reaches; keys move it while the focus is on the button of a row. */
function useCurrent(scroller: RefObject<HTMLElement | null>, count: number, scrollTo: (index: number) => void) {
  const [current, setCurrent] = useState(0);
  const moved = useRef(false);
  const buttonsOf = (row: Element | null | undefined) => row?.querySelectorAll<HTMLElement>("button, a") ?? [];
  useLayoutEffect(() => {
    const rows = [...(scroller.current?.querySelectorAll("tr[data-index]") ?? [])];
    const reached = rows.find((row) => row.hasAttribute("data-current")) ?? rows[0];
    for (const row of rows) for (const button of buttonsOf(row)) button.tabIndex = row === reached ? 0 : -1;
  });
  useEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    buttonsOf(scroller.current?.querySelector("tr[data-current]"))[0]?.focus({ preventScroll: true });
  }, [current]);
  const onKeyDown = (event: KeyboardEvent) => {
    const button = (event.target as Element).closest("button");
    const move = MOVES[event.key];
    if (button === null || move === undefined || button.getAttribute("aria-expanded") === "true") return;
    // Inside an open menu the keys are the menu's.
    if (button.getAttribute("role") === "menuitem") return;
    event.preventDefault();
    event.stopPropagation();
    const to = Math.max(0, Math.min(count - 1, current + move));
    if (to === current) return;
    moved.current = true;
    scrollTo(to);
    setCurrent(to);
  };
  const onFocus = ({ target }: FocusEvent) => {
    const index = (target as Element).closest("tr")?.dataset.index;
    if (index !== undefined) setCurrent(Number(index));
  };
  return { current: Math.min(current, count - 1), onKeyDown, onFocus };
}
