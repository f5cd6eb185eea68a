/**
 * An argument for Node that ends a process when its parent process has ended for any reason. The
 * parent starts it with an IPC channel. It ends by a signal, because `process.exit` runs the code
 * that waits for the exit: a log, for example, may try forever to write its last lines to the
 * parent.
 */
export const END_WITH_PARENT =
  "--import=data:text/javascript,process.once('disconnect',()=>process.kill(process.pid,'SIGKILL'))";
