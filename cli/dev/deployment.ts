/**
 * Makes `dist/` a folder that runs on another machine by `node main.js`: next to the bundle it has
 * the packages that cannot be bundled, a package.json, and a Dockerfile.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BuildOptions } from "esbuild";
import packageJson from "../../package.json" with { type: "json" };
import { copyPackages, nativePackages } from "./native-packages.js";

export const DIST = "dist";

/** What the bundler is told besides, to bundle packages. `write` adds the rest of the folder. */
export function deployment(folder: string): { readonly options: BuildOptions; write(): void } {
  const native = new Map<string, string>();
  const dist = join(folder, DIST);
  const write = (): void => {
    mkdirSync(dist, { recursive: true });
    rmSync(join(dist, "node_modules"), { recursive: true, force: true });
    copyPackages(native, join(dist, "node_modules"));
    const manifest = { private: true, type: "module", engines: packageJson.engines };
    writeFileSync(join(dist, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    writeFileSync(join(dist, "Dockerfile"), DOCKERFILE);
    writeFileSync(join(dist, ".dockerignore"), "Dockerfile\n.dockerignore\n*.test.js\n*.test.js.map\n");
  };
  const options: BuildOptions = {
    outdir: DIST,
    packages: "bundle",
    banner: { js: REQUIRE },
    // CommonJS packages use these names, which a module does not have.
    define: { __dirname: "import.meta.dirname", __filename: "import.meta.filename" },
    loader: { ".node": "copy" },
    plugins: [nativePackages(native)],
  };
  return { options, write };
}

/** CommonJS packages in an ESM bundle still call `require` for Node's own modules. */
const REQUIRE =
  'import { createRequire as createRequireOfBundle } from "node:module"; const require = createRequireOfBundle(import.meta.url);';

const DOCKERFILE = `# docker build --tag <name> dist
FROM node:22-bookworm-slim
WORKDIR /service
COPY . .
RUN mkdir /data && chown node:node /data
USER node
# In a container, loopback could not be reached from outside. PORTICO_AUTHORITY and PORTICO_ENROLMENT say where it joins, and
# PORTICO_ADVERTISE where gateways reach it, such as <name>:8081.
ENV PORTICO_DATA=/data PORTICO_GRPC=0.0.0.0:8081
# \`docker stop\` kills after 10 s, unless it is given another time.
ENV PORTICO_DRAIN=9s
VOLUME /data
EXPOSE 8081
STOPSIGNAL SIGTERM
CMD ["node", "--enable-source-maps", "main.js"]
`;
