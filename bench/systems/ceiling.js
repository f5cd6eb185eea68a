// The ceiling: node:http alone. It reads a body and answers with text made beforehand, chosen by the body's length.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [port, file] = process.argv.slice(2);
const answers = JSON.parse(readFileSync(file, "utf8"));

createServer((request, response) => {
  const answer = answers[request.headers["content-length"]];
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
    response.end(answer);
  });
}).listen(Number(port), "127.0.0.1");
