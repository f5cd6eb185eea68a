// Opens the given number of connections. Half of them call once. Then it does nothing more until
// its stdin ends. Arguments: port, connections. Prints a line when all are open. For each line that
// it reads, it prints the number of connections that are still open.
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";

const [port, count] = process.argv.slice(2).map(Number);
/** Fewer than the backlog of a server. */
const AT_A_TIME = 200;
const sockets = [];
let open = 0;
while (sockets.length < count) {
  const some = Array.from({ length: AT_A_TIME }, () => connect(port, "127.0.0.1").on("error", () => {}));
  await Promise.all(some.map((socket) => once(socket, "connect")));
  for (const socket of some) {
    open++;
    socket.once("close", () => open--);
  }
  const callers = some.filter((_, index) => index % 2 === 0);
  for (const socket of callers) socket.write("GET /idle HTTP/1.1\r\nHost: x\r\n\r\n");
  await Promise.all(callers.map((socket) => once(socket, "data")));
  for (const socket of some) socket.resume();
  sockets.push(...some);
}
console.log("open");
const lines = createInterface({ input: process.stdin });
lines.on("line", () => console.log(open));
lines.once("close", () => process.exit());
