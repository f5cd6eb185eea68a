/**
 * Notifies of changes of a file: it was written, replaced, created or deleted. Its folder is
 * watched, because watching a file does not show that another file took its name. The file is also
 * checked each second, because some folders cannot be watched: those that do not exist yet, were
 * replaced, or are on another computer.
 */
import { type StatsListener, unwatchFile, watch, watchFile } from "node:fs";
import { basename, dirname } from "node:path";

/** Time between two checks of the file, in milliseconds. */
const LOOK_MS = 1_000;
/** How long writing a changed file may take, in milliseconds. */
const WRITE_MS = 50;

/**
 * Calls the listener soon after each change, until the signal is aborted. It may be called twice
 * for one change.
 */
export function onFileChange(path: string, listener: () => void, signal: AbortSignal): void {
  let timer: NodeJS.Timeout | undefined;
  const onChange = (): void => {
    clearTimeout(timer);
    timer = setTimeout(listener, WRITE_MS);
    timer.unref();
  };
  // Node also calls it once for a file that does not exist.
  const onLook: StatsListener = (now, before) => void ((now.ino !== 0 || before.ino !== 0) && onChange());
  // All callers that watch the same file share one StatWatcher, so it may have any number of
  // listeners.
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
