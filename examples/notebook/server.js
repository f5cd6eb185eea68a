// Serves the page of the notebook, and redirects its short links: node server.js [port]
import { createReadStream } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Portico } from "portico/client";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };
const FILES = new Map(["app.js", "style.css"].map((name) => [`/${name}`, new URL(name, import.meta.url)]));
FILES.set("/", new URL("index.html", import.meta.url));
FILES.set("/portico-client.js", new URL(import.meta.resolve("portico/client")));

// The address and a token come from PORTICO_URL and PORTICO_TOKEN. Without a token, a rule must let
// all callers call Resolve.
const portico = new Portico();
const url = process.env.PORTICO_URL ?? "http://127.0.0.1:8080";

const server = createServer(async ({ url: path = "/" }, response) => {
  const file = FILES.get(path);
  if (file !== undefined) {
    const contentSecurityPolicy = `default-src 'self'; connect-src ${url}`;
    response.writeHead(200, {
      "Content-Type": TYPES[extname(file.pathname)],
      "Content-Security-Policy": contentSecurityPolicy,
    });
    createReadStream(fileURLToPath(file)).pipe(response);
  } else if (path === "/settings.js") {
    response.writeHead(200, { "Content-Type": TYPES[".js"] }).end(`export const url = ${JSON.stringify(url)};\n`);
  } else if (path.startsWith("/l/")) {
    try {
      const { address } = await portico.url.resolve({ name: path.slice("/l/".length) });
      response.writeHead(302, { Location: address }).end();
    } catch (error) {
      response
        .writeHead(error.Code ?? 500, { "Content-Type": "text/plain" })
        .end(`${error.Detail ?? "Internal error"}\n`);
    }
  } else {
    response.writeHead(404, { "Content-Type": "text/plain" }).end("Not found\n");
  }
});

const [port = "3000"] = process.argv.slice(2);
server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
