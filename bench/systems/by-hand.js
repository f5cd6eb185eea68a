// A handler written by hand for node:http: JSON.parse reads the body, JSON.stringify writes the
// response.
import { createServer } from "node:http";

createServer((request, response) => {
  const chunks = [];
  request
    .on("data", (chunk) => chunks.push(chunk))
    .on("end", () => {
      const { name } = JSON.parse(Buffer.concat(chunks).toString());
      const greeting = `Hello ${name}`;
      const answer = JSON.stringify({ message: greeting, msg: greeting });
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
      response.end(answer);
    });
}).listen(Number(process.argv[2]), "127.0.0.1");
