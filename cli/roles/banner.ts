/** What a server says of itself when it is ready: where it is reached, and what to do next. */

/** A line of the table: a word and what stands behind it. */
export type Line = readonly [word: string, value: string];

export interface Banner {
  readonly title: string;
  readonly lines: readonly Line[];
  /** Said at the first start only. */
  readonly password?: { readonly password: string; readonly file: string } | undefined;
  /** Commands to try. */
  readonly commands: readonly string[];
  /** Why it cannot serve yet; undefined where it can. */
  readonly notReady: string | undefined;
}

/** Whether it can serve, in words; also said on its own, when that changes. */
export function readiness(notReady: string | undefined): string {
  if (notReady === undefined) return "  Ready. Ctrl-C stops it.";
  return `  Not ready: ${notReady}.\n  Calls are refused with 503 until it is. Ctrl-C stops it.`;
}

/** The banner as text, at most 80 columns wide but for long values. It ends with `Ready`, or with what is missing. */
export function banner({ title, lines, password, commands, notReady }: Banner): string {
  const width = Math.max(...lines.map(([word]) => word.length));
  const table = lines.map(([word, value]) => `  ${word.padEnd(width)}   ${value}`);
  const secret = password && [
    "",
    "  Log in as admin with this one-time password. It is shown only now and kept in",
    `  ${password.file}`,
    "",
    `      ${password.password}`,
  ];
  const tries = commands.length > 0 ? ["", "  Try", "", ...commands.map((command) => `      ${command}`)] : [];
  return ["", `  ${title}`, "", ...table, ...(secret ?? []), ...tries, "", readiness(notReady), "", ""].join("\n");
}
