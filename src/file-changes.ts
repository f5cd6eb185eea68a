/**
 * Tells of changes of a file: that it was written, replaced, created or deleted. Its folder is watched, because watching a
 * file does not show that another took its name. The file is also looked at each second, for folders that cannot be watched:
 * one that is not there yet, or was replaced, or is on another machine.
 */
import { type StatsListener, unwatchFile, watch, watchFile } from "node:fs";
import { basename, dirname } from "node:path";

/** Between two looks at the file, in milliseconds. */
const LOOK_MS = 1_000;
/** How long a file that changes may take to be written, in milliseconds. */
const WRITE_MS = 50;

/** Calls the listener soon after each change, until the signal is aborted. It may be called twice for one change. */
export function onFileChange(path: string, listener: () => void, signal: AbortSignal): void {
  let timer: NodeJS.Timeout | undefined;
  const onChange = (): void => {
    clearTimeout(timer);
    timer = setTimeout(listener, WRITE_MS);
    timer.unref();
  };
  // Node calls it once for a file that is not there.
  const onLook: StatsListener = (now, before) => void ((now.ino !== 0 || before.ino !== 0) && onChange());
  // All who look at one file share the watcher.
  watchFile(path, { persistent: false, interval: LOOK_MS }, onLook).setMaxListeners(0);
  signal.addEventListener("abort", () => {
    unwatchFile(path, onLook);
    clearTimeout(timer);
  });
  const name = basename(path);
  try {
    const watcher = watch(dirname(path), { persistent: false, signal }, (_event, changed) => {
      if (changed === null || changed === name) onChange();
    });
    watcher.on("error", () => {});
  } catch {} // There is no such folder.
}
