/** Charts over time, drawn as SVG. Their colours are in styles/console.css. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Series {
  readonly title: string;
  /** A class of styles/console.css. */
  readonly look: string;
  /** One value for each period; undefined for a gap. */
  readonly values: readonly (number | undefined)[];
}

interface ChartProps {
  /** A description for screen readers. */
  readonly label: string;
  readonly kind: "bars" | "lines";
  /** The start of each period, as text. */
  readonly periods: readonly string[];
  readonly series: readonly Series[];
  readonly show: (value: number) => string;
  /** Called with the periods that a drag, or Shift with the arrow keys and Enter, chose. */
  readonly onSelect?: ((range: Range) => void) | undefined;
}

/** Periods by index; both ends belong to it. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

const HEIGHT = 200;
const BOTTOM = 24;
const TOP = 12;
const LEFT = 52;
/** Horizontal lines above zero. */
const TICKS = 4;

/** Bars are stacked, the first series at the bottom. */
export function Chart({ label, kind, periods, series, show, onSelect }: ChartProps) {
  const [figure, width] = useWidth();
  const cursor = useCursor({ count: periods.length, width, onSelect });
  const top = kind === "bars" ? niceCount(highestStack(series)) : niceAbove(Math.max(0, ...series.flatMap(known)));
  const step = (width - LEFT) / periods.length;
  const x = (index: number) => LEFT + index * step;
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
  return (
    <figure class="chart" ref={figure}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys show its values. */}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for the fields of a form. */}
      <div class="chart-area" role="group" aria-label={`${label}. Arrow keys show values.`} tabIndex={0} {...cursor.on}>
        <svg width={width} height={HEIGHT} role="img" aria-label={label}>
          <Marks cursor={cursor} x={x} step={step} />
          {Array.from({ length: TICKS + 1 }, (_, index) => (top * index) / TICKS).map((tick) => (
            <g key={tick} class="chart-tick">
              <line x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
              <text x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
                {show(tick)}
              </text>
            </g>
          ))}
          <PeriodLabels periods={periods} x={x} width={width} />
          {kind === "bars" ? (
            <Bars periods={periods} series={series} x={x} y={y} step={step} />
          ) : (
            series.map((one) => <Line key={one.title} series={one} x={(index) => x(index) + step / 2} y={y} />)
          )}
        </svg>
      </div>
      <p class="chart-values hint" role="status">
        {cursor.at === undefined
          ? `Point at the chart, or use the arrow keys.${onSelect === undefined ? "" : " Drag, or Shift and arrow keys then Enter, sets the time."}`
          : valuesAt(cursor, periods, series, show)}
      </p>
      <figcaption>
        <ul class="legend">
          {series.map(({ title, look }) => (
            <li key={title}>
              <svg class={look} width="12" height="12" aria-hidden="true">
                <rect width="12" height="12" rx="2" />
              </svg>
              {title}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

type Place = (value: number) => number;

interface BarsProps {
  readonly periods: readonly string[];
  readonly series: readonly Series[];
  readonly x: Place;
  readonly y: Place;
  readonly step: number;
}

function Bars({ periods, series, x, y, step }: BarsProps) {
  const gap = Math.min(2, step / 4);
  return (
    <>
      {periods.map((period, index) => {
        let below = 0;
        return (
          <g key={`${index} ${period}`}>
            {series.map(({ title, look, values }) => {
              const value = values[index] ?? 0;
              below += value;
              if (value === 0) return null;
              // High enough that a bar of one call among thousands is visible.
              const height = Math.max(y(0) - y(value), 1.5);
              return <rect key={title} class={look} x={x(index)} y={y(below)} width={step - gap} height={height} />;
            })}
          </g>
        );
      })}
    </>
  );
}

interface Cursor {
  /** The period under the pointer or chosen by keys. */
  readonly at: number | undefined;
  /** The other end of the periods that are being chosen. */
  readonly anchor: number | undefined;
}

function rangeOf({ at, anchor }: Cursor): Range | undefined {
  if (at === undefined) return undefined;
  return { from: Math.min(at, anchor ?? at), to: Math.max(at, anchor ?? at) };
}

function valuesAt(cursor: Cursor, periods: readonly string[], series: readonly Series[], show: ChartProps["show"]) {
  const range = rangeOf(cursor);
  if (range === undefined) return "";
  const { from, to } = range;
  if (from !== to) return `${periods[from]} to ${periods[to]}`;
  const values = series.map(({ title, values }) => [title, values[from]] as const);
  const known = values.filter(([, value]) => value !== undefined && value !== 0);
  const text = known.map(([title, value]) => `${show(value!)} ${title}`).join(", ");
  return `${periods[from]}: ${text || "no calls"}`;
}

function Marks({ cursor, x, step }: { readonly cursor: Cursor; readonly x: Place; readonly step: number }) {
  const range = rangeOf(cursor);
  if (range === undefined) return null;
  const width = (range.to - range.from + 1) * step;
  return <rect class="chart-mark" x={x(range.from)} y={TOP} width={width} height={HEIGHT - TOP - BOTTOM} />;
}

const NOWHERE: Cursor = { at: undefined, anchor: undefined };

/** The period at the pointer or at the keyboard's cursor, and the choice of several. */
function useCursor({ count, width, onSelect }: { count: number; width: number; onSelect: ChartProps["onSelect"] }) {
  const [cursor, setCursor] = useState(NOWHERE);
  const clamp = (index: number) => Math.max(0, Math.min(count - 1, index));
  const indexOf = ({ currentTarget, clientX }: PointerEvent) => {
    const { left } = (currentTarget as Element).getBoundingClientRect();
    return clamp(Math.floor((clientX - left - LEFT) / ((width - LEFT) / count)));
  };
  const select = (chosen: Cursor) => {
    const range = rangeOf(chosen);
    setCursor(NOWHERE);
    if (range !== undefined) onSelect?.(range);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { at = count, anchor } = cursor;
    if (event.key === "Escape") return setCursor(NOWHERE);
    if (event.key === "Enter" && cursor.at !== undefined) return select(cursor);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: count - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const isChoice = event.shiftKey && onSelect !== undefined;
    setCursor({ at: clamp(next), anchor: isChoice ? (anchor ?? clamp(at)) : undefined });
  };
  const on = {
    onKeyDown,
    onBlur: () => setCursor(NOWHERE),
    onPointerDown: (event: PointerEvent) => {
      const at = indexOf(event);
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      if (onSelect !== undefined) setCursor({ at, anchor: at });
    },
    onPointerMove: (event: PointerEvent) => {
      const at = indexOf(event);
      setCursor(({ anchor }) => ({ at, anchor }));
    },
    onPointerUp: () => {
      if (cursor.anchor !== undefined && cursor.anchor !== cursor.at) select(cursor);
      else setCursor(({ at }) => ({ at, anchor: undefined }));
    },
    onPointerLeave: () => setCursor((now) => (now.anchor === undefined ? NOWHERE : now)),
    onPointerCancel: () => setCursor(NOWHERE),
  };
  return { ...cursor, on };
}

/** A line, with a gap where a value is undefined. */
function Line({ series: { look, values }, x, y }: { readonly series: Series; readonly x: Place; readonly y: Place }) {
  const points = values.flatMap((value, index) => (value === undefined ? [] : [{ index, at: [x(index), y(value)] }]));
  const path = points.map(({ index, at }) => `${values[index - 1] === undefined ? "M" : "L"}${at.join(" ")}`).join("");
  return (
    <g class={look}>
      <path class="chart-line" d={path} />
      {points.map(({ index, at: [cx, cy] }) => (
        <circle key={index} cx={cx} cy={cy} r="2.5" />
      ))}
    </g>
  );
}

/** On a narrower chart the label in the middle would be on top of the others. */
const MIN_FOR_MIDDLE = 440;

function PeriodLabels({
  periods,
  x,
  width,
}: {
  readonly periods: readonly string[];
  readonly x: Place;
  readonly width: number;
}) {
  const last = periods.length - 1;
  const labels: readonly [at: number, anchor: "start" | "middle" | "end", index: number][] = [
    [LEFT, "start", 0],
    [x(last / 2), "middle", Math.round(last / 2)],
    [width, "end", last],
  ];
  return (
    <g class="chart-tick">
      {(width < MIN_FOR_MIDDLE ? [labels[0]!, labels[2]!] : labels).map(([at, anchor, index]) => (
        <text key={anchor} x={at} y={HEIGHT - 6} text-anchor={anchor}>
          {periods[index]}
        </text>
      ))}
    </g>
  );
}

/**
 * The available width in pixels. Charts are drawn to this width and not scaled, so that text stays
 * readable on a small screen.
 */
function useWidth() {
  const figure = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(300);
  useEffect(() => {
    const measure = () => setWidth(Math.max(200, Math.floor(figure.current?.clientWidth ?? 0)));
    const observer = new ResizeObserver(measure);
    measure();
    if (figure.current) observer.observe(figure.current);
    return () => observer.disconnect();
  }, []);
  return [figure, width] as const;
}

function highestStack(series: readonly Series[]): number {
  const length = Math.max(0, ...series.map(({ values }) => values.length));
  const stacks = Array.from({ length }, (_, index) =>
    series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  );
  return Math.max(0, ...stacks);
}

function known({ values }: Series): number[] {
  return values.filter((value) => value !== undefined);
}

/**
 * The smallest number of 4, 8, 20, 40, 80 … that is not below the value. The four lines of the
 * chart then stand at round numbers.
 */
function niceAbove(value: number): number {
  if (value <= 0) return TICKS;
  const power = 10 ** Math.floor(Math.log10(value / TICKS));
  const step = [1, 2, 5, 10].find((one) => one * power * TICKS >= value) ?? 10;
  return step * power * TICKS;
}

/** The same for a count: at least 4, so that each line stands at a whole number. */
function niceCount(value: number): number {
  return Math.max(TICKS, niceAbove(value));
}

export function ChartCard({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card stack">
      <h2>{title}</h2>
      {children}
    </section>
  );
}
