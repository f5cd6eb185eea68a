/** What completes the value of a setting: the words that it takes, or the names of files and folders. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { SETTINGS } from "../../src/config.js";
import type { Candidate, Source } from "../http/candidates.js";

export function completionOf({ values }: (typeof SETTINGS)[keyof typeof SETTINGS]): Source | undefined {
  if (values === "file") return ({ current }) => pathsAt(current);
  if (values === "folder") return ({ current }) => pathsAt(current).filter(({ open }) => open);
  return values && (() => values.map((text) => ({ text })));
}

/** Files and folders whose path begins with the text. Hidden ones only where their dot is typed. */
function pathsAt(typed: string): (Candidate & { open: boolean })[] {
  const end = typed.lastIndexOf("/") + 1;
  const [folder, start] = [typed.slice(0, end), typed.slice(end)];
  const names = readdirSync(folder || ".").filter(
    (name) => name.startsWith(start) && (start !== "" || !name.startsWith(".")),
  );
  return names.map((name) => {
    const isFolder = statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === true;
    return { text: `${folder}${name}${isFolder ? "/" : ""}`, open: isFolder };
  });
}
