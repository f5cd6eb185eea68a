// A handler by hand, as one writes it for node:http: JSON.parse reads the body, JSON.stringify writes the answer.
import { createServer } from "node:http";

createServer((request, response) => {
  const pieces = [];
  request
    .on("data", (piece) => pieces.push(piece))
    .on("end", () => {
      const { name } = JSON.parse(Buffer.concat(pieces).toString());
      const greeting = `Hello ${name}`;
      const answer = JSON.stringify({ message: greeting, msg: greeting });
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
      response.end(answer);
    });
}).listen(Number(process.argv[2]), "127.0.0.1");
