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
}

const HEIGHT = 200;
const BOTTOM = 24;
const TOP = 12;
const LEFT = 52;
/** Horizontal lines above zero. */
const TICKS = 4;

/** Bars are stacked, the first series at the bottom. */
export function Chart({ label, kind, periods, series, show }: ChartProps) {
  const [figure, width] = useWidth();
  const top = kind === "bars" ? niceCount(highestStack(series)) : niceAbove(Math.max(0, ...series.flatMap(known)));
  const step = (width - LEFT) / periods.length;
  const x = (index: number) => LEFT + index * step;
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
  return (
    <figure class="chart" ref={figure}>
      <svg width={width} height={HEIGHT} role="img" aria-label={label}>
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
          <Bars periods={periods} series={series} x={x} y={y} step={step} show={show} />
        ) : (
          series.map((one) => <Line key={one.title} series={one} x={(index) => x(index) + step / 2} y={y} />)
        )}
      </svg>
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
  readonly show: (value: number) => string;
}

function Bars({ periods, series, x, y, step, show }: BarsProps) {
  const gap = Math.min(2, step / 4);
  return (
    <>
      {periods.map((period, index) => {
        let below = 0;
        return (
          <g key={period}>
            <title>{`${period}: ${series.map(({ title, values }) => `${show(values[index] ?? 0)} ${title}`).join(", ")}`}</title>
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
      {labels.map(([at, anchor, index]) => (
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
