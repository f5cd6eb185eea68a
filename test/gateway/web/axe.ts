/** Accessibility problems that axe finds (https://github.com/dequelabs/axe-core). */
import axe from "axe-core";
import type { Page } from "playwright-core";

interface Results {
  readonly passes: readonly unknown[];
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
  }[];
}

/** The serious and critical problems, one line each. */
export async function seriousFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
  // Colours are mixed while something appears.
  await page.evaluate(
    "Promise.allSettled(document.getAnimations().filter((a) => a.effect.getComputedTiming().endTime < Infinity).map((a) => a.finished))",
  );
  // Of other results, only one element for each rule is described, which takes half the time.
  const { violations, passes } = await page.evaluate<Results>("axe.run({ resultTypes: ['violations'] })");
  if (passes.length === 0) throw new Error("axe looked at nothing");
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} ${target}: ${failureSummary}`));
}
