/**
 * Ends a process of `portico dev` when its parent process has ended for any reason.
 *
 * The parent holds the other end of a pipe. A thread of its own waits for the end of the pipe,
 * because the main thread may be busy, such as a type checker or an endless loop in a service. It
 * ends the process by a signal: no code of the process can prevent or delay that.
 */

/** The file descriptor of the pipe: the process is started with `"pipe"` at this place. */
const PIPE = 3;

const WATCH =
  `new(require('net').Socket)({fd:${PIPE},readable:true,writable:false}).resume()` +
  ".on('close',()=>process.kill(process.pid,'SIGKILL'))";

/** An argument for Node. The thread gets no arguments: with this one it would start another. */
export const END_WITH_PARENT =
  `--import=data:text/javascript,import{Worker}from'node:worker_threads';` +
  `new Worker(${JSON.stringify(WATCH)},{eval:true,execArgv:[]}).unref()`;
