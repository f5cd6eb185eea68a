// The ceiling: node:http alone. It reads a body, and responds with a prepared response that it
// selects by the body's length. A small response is text, because node writes text together with
// the head. A large one is bytes, which node does not have to encode.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [port, file] = process.argv.slice(2);
const LARGE = 16 * 1024;
const answers = JSON.parse(readFileSync(file, "utf8"));
for (const [key, text] of Object.entries(answers)) if (text.length > LARGE) answers[key] = Buffer.from(text);

createServer((request, response) => {
  const answer = answers[request.headers["content-length"]];
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
    response.end(answer);
  });
}).listen(Number(port), "127.0.0.1");
