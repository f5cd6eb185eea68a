// Shows what a long task is doing, and for how long. On a terminal it overwrites one line.
// Elsewhere it prints a line for each stage, and one from time to time.

/** The interval of the output in milliseconds: on a terminal, and elsewhere. */
const TERMINAL_MS = 1_000;
const LINE_MS = 30_000;

export class Progress {
  #output;
  #task;
  #stage = "";
  #since = Date.now();
  #timer;

  constructor(output, task) {
    this.#output = output;
    this.#task = task;
    this.#timer = setInterval(() => this.#say(), output.isTTY ? TERMINAL_MS : LINE_MS);
  }

  stage(stage) {
    if (stage === this.#stage) return;
    this.#stage = stage;
    this.#say();
  }

  end() {
    clearInterval(this.#timer);
    if (this.#output.isTTY) this.#output.write("\r\u001b[K");
  }

  #say() {
    const line = `${this.#task}: ${this.#stage} (${elapsed(Date.now() - this.#since)})`;
    if (!this.#output.isTTY) this.#output.write(`${line}\n`);
    // A line that the terminal breaks into two could not be overwritten.
    else this.#output.write(`\r\u001b[K${line.slice(0, (this.#output.columns || 80) - 1)}`);
  }
}

/** `1:05` */
function elapsed(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${`${seconds % 60}`.padStart(2, "0")}`;
}
