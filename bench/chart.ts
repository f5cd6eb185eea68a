/**
 * A bar chart of the processor time of a call, as an SVG file that is readable on light and dark
 * pages.
 */
import type { Results } from "./results.js";

const ROW = 26;
const LABEL = 270;
const BARS = 420;
const WIDTH = LABEL + BARS + 70;
const TOP = 50;

/** The bars show the process that callers connect to, and the processes behind it. */
export function chart({ systems }: Results, point: string): string {
  const rows = systems.map(({ name, points }) => {
    const processor = points[point]!.processor;
    return { name, front: processor.at(-1)!, behind: processor.slice(0, -1).reduce((sum, time) => sum + time, 0) };
  });
  const scale = BARS / Math.max(...rows.map(({ front, behind }) => front + behind));
  const height = TOP + rows.length * ROW + 10;
  const bars = rows.map(({ name, front, behind }, index) => {
    const y = TOP + index * ROW;
    const [first, second] = [front * scale, behind * scale];
    const total = behind > 0 ? `${front.toFixed(0)} + ${behind.toFixed(0)}` : front.toFixed(0);
    return (
      `<text x="${LABEL - 8}" y="${y + 13}" text-anchor="end">${xml(name)}</text>` +
      `<rect class="${name.startsWith("Portico") ? "ours" : "front"}" x="${LABEL}" y="${y}" width="${first.toFixed(1)}" height="18"/>` +
      `<rect class="behind" x="${(LABEL + first).toFixed(1)}" y="${y}" width="${second.toFixed(1)}" height="18"/>` +
      `<text x="${(LABEL + first + second + 6).toFixed(1)}" y="${y + 13}">${total}</text>`
    );
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>Processor time a call</title>
<style>
text { font: 12px sans-serif; fill: #57606a }
.ours { fill: #0969da } .front { fill: #8c959f } .behind { fill: #8c959f; opacity: 0.4 }
@media (prefers-color-scheme: dark) { text { fill: #8b949e } .ours { fill: #2f81f7 } }
</style>
<text x="${LABEL}" y="18">Microseconds of processor time a call (${xml(point)}); less is better</text>
<text x="${LABEL}" y="36">full: the process that callers reach; pale: those behind it</text>
${bars.join("\n")}
</svg>
`;
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
