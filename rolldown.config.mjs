// Joins what the compiler made of the sources into few files: a start reads forty of them instead of four hundred, and
// takes half the time (`npm run bench relay`). Every public module is an entry, so that there is one copy of each,
// whoever imports it.
import { readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL(".", import.meta.url));
const built = join(root, "build");
const { exports, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const entries = [
  ...Object.values(exports).flatMap((entry) => entry.default ?? []),
  ...Object.values(bin),
  // Started as a thread, by its path.
  "./dist/playground/worker.js",
].map((file) => file.replace("./dist/", ""));

/**
 * What a start or the first connection needs of others is joined too, where its licence comes with it; all
 * else stays where it is installed. Of the SDK's client, half of what it imports is then never read.
 */
const joined = new RegExp(
  `^(${[
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/core",
    "citty",
    "confbox",
    "eventsource",
    "eventsource-parser",
    "hookable",
    "lru-cache",
    "pkce-challenge",
    "undici",
    "valibot",
    "zod",
  ].join("|")})(/|$)`,
);

/**
 * What a start needs at one moment is one file, with all that it imports and no file before it has: to find, read and
 * link a file takes Node longer than to run most of them. The first must stay small and import none of the others, since
 * only what is read after it is kept compiled.
 */
const together = {
  first: ["plugins/cli/keep-compiled"],
  command: ["plugins/cli/commands", "plugins/cli/main"],
  core: ["core/mod"],
  served: ["plugins/cli/serve", "plugins/cli/running-gateways", "presets/passthrough"],
  anygpt: ["presets/anygpt/preset"],
  // Before the preset `gateway`: what both need would be in its file, and the others would load all of it.
  connection: ["plugins/upstreams/connect-server", "plugins/mcp/stdio/connect"],
  search: ["plugins/search/searcher", "plugins/search/fusion/ranker", "plugins/search/fusion/relevance"],
  http: ["plugins/lib/http/client"],
  gateway: ["presets/gateway/mod"],
};

/** Two packages of the SDK have a copy of zod each, where it could not be installed for both: one is enough. */
const client = fileURLToPath(import.meta.resolve("@modelcontextprotocol/client"));
const oneZod = {
  name: "one-zod",
  resolveId: {
    filter: { id: /^zod(\/|$)/ },
    handler(id) {
      return this.resolve(id, client, { skipSelf: true });
    },
  },
};

/** Of undici only what makes connections: the whole of it takes 80 ms longer to load. */
const dispatchers = {
  name: "dispatchers",
  resolveId: { filter: { id: /^undici$/ }, handler: () => "\0undici" },
  load: {
    filter: { id: /^\0undici$/ },
    handler: () => {
      const folder = join(root, "node_modules/undici/lib");
      const parts = {
        Agent: "dispatcher/agent.js",
        EnvHttpProxyAgent: "dispatcher/env-http-proxy-agent.js",
        Pool: "dispatcher/pool.js",
        buildConnector: "core/connect.js",
      };
      const from = (file) => JSON.stringify(join(folder, file));
      return [
        ...Object.entries(parts).map(([name, file]) => `export { default as ${name} } from ${from(file)};`),
        // The agent for proxies opens tunnels with a method that only the whole of undici adds.
        `import Dispatcher from ${from("dispatcher/dispatcher.js")};`,
        `import connect from ${from("api/api-connect.js")};`,
        "Dispatcher.prototype.connect = connect;",
      ].join("\n");
    },
  },
};

export default {
  input: Object.fromEntries(entries.map((file) => [file.replace(/\.js$/, ""), join(built, file)])),
  platform: "node",
  external: (id) => !id.startsWith(".") && !id.startsWith(root) && !joined.test(id),
  plugins: [
    oneZod,
    dispatchers,
    { name: "places", transform: inPlace },
    { name: "builtins", renderChunk: (code) => asBuiltins(code) },
    { name: "licences", generateBundle: addLicences },
  ],
  output: {
    dir: "dist",
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    codeSplitting: {
      groups: Object.entries(together).map(([name, modules], index, all) => ({
        name,
        test: (id) => modules.some((module) => id === join(built, `${module}.js`)),
        priority: all.length - index,
      })),
    },
  },
};

/** Files beside a module are found as if it still were where it was. */
function inPlace(code, id) {
  if (!id.startsWith(built) || !code.includes("import.meta.url")) return undefined;
  const from = `../${relative(built, id).split(sep).join("/")}`;
  return code.replaceAll("import.meta.url", `new URL(${JSON.stringify(from)}, import.meta.url).href`);
}

/**
 * Modules of Node itself are asked for, and not imported: an import looks at everything a module has, and what it makes
 * only when it is looked at, such as the streams of the process, is made for nobody.
 */
function asBuiltins(code) {
  return code.replace(
    /^import (?:\* as )?(\{[^}]*\}|[\w$]+) from "(node:[\w/]+)";$/gm,
    (_, names, from) =>
      `const ${names.replaceAll(" as ", ": ")} = globalThis.process.getBuiltinModule("${from}");`,
  );
}

/** Whoever gives away copies of a package gives its licence with it. */
function addLicences(_options, bundle) {
  const folders = new Set();
  for (const { modules = {} } of Object.values(bundle)) {
    for (const id of Object.keys(modules)) {
      const found = /^(.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id);
      if (found) folders.add(found[1]);
    }
  }
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return `${name} ${version} (${license})\n\n${licenceIn(folder)}`;
  });
  this.emitFile({ type: "asset", fileName: "chunks/LICENCES.txt", source: texts.join("\n\n---\n\n") });
}

function licenceIn(folder) {
  for (const name of ["LICENSE", "LICENSE.md", "license", "LICENCE", "LICENSE.txt"]) {
    try {
      return readFileSync(join(folder, name), "utf8").trim();
    } catch {
      // It has another name.
    }
  }
  throw new Error(`There is no licence in ${dirname(folder)}.`);
}
