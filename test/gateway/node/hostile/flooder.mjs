// A hostile client in its own process, so that the server's process does only its own work. It
// pipelines requests as fast as the server reads them, for a given time. Arguments: port,
// milliseconds, connections, "read" or "ignore". Prints the number of bytes sent.
import { connect } from "node:net";

const [port, duration, connections, reads] = process.argv.slice(2);
const batch = Buffer.from("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1_000));
const sockets = Array.from({ length: Number(connections) }, () => {
  const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
  if (reads === "read") socket.resume();
  const write = () => {
    while (!socket.destroyed && socket.write(batch));
  };
  return socket.on("connect", write).on("drain", write);
});
setTimeout(() => {
  let sent = 0;
  for (const socket of sockets) {
    sent += socket.bytesWritten - socket.writableLength;
    socket.destroy();
  }
  console.log(sent);
}, Number(duration));
