import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { formerSubpaths } from "../core/load-module.ts";
import { version } from "../core/version.ts";

const root = new URL("../", import.meta.url);
const path = (file: string): string => fileURLToPath(new URL(file, root));
const read = (file: string): string => readFileSync(path(file), "utf8");

interface NodeEntry {
  readonly types: string;
  readonly default: string;
}

const node = JSON.parse(read("package.json")) as {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, NodeEntry | string>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  /** Loaded only by the features that need them. */
  readonly peerDependencies: Readonly<Record<string, string>>;
};
const deno = JSON.parse(read("deno.json")) as {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, string>>;
};

/** The modules; files such as package.json are exported to Node alone. */
const nodeModules = Object.entries(node.exports).filter(
  (entry): entry is [string, NodeEntry] => typeof entry[1] !== "string",
);

/** Every source file below a folder. */
function sources(folder: string): string[] {
  return readdirSync(path(folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => `${folder}/${file.replaceAll("\\", "/")}`);
}

/** A source without its comments, whose examples would be taken for code. */
function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

test("both manifests tell the same name, version and license, and the code the same version", () => {
  const { name, license } = node;
  expect({ name: deno.name, license: deno.license }).toEqual({ name, license });
  expect([node.version, deno.version]).toEqual([version, version]);
});

describe("the export maps", () => {
  test("name the same modules, built on Node and as sources on Deno", () => {
    const built = nodeModules.map(([name, entry]) => [name, entry.default]);
    const expected = Object.entries(deno.exports).map(([name, file]) => [
      name,
      file.replace(/^\.\//, "./dist/").replace(/\.ts$/, ".js"),
    ]);
    expect(Object.fromEntries(built)).toEqual(Object.fromEntries(expected));
  });

  test("have types beside every module, which the compiler reads before the rest", () => {
    for (const [name, entry] of nodeModules) {
      expect([name, entry.types]).toEqual([name, entry.default.replace(/\.js$/, ".d.ts")]);
      expect([name, Object.keys(entry)[0]]).toEqual([name, "types"]);
    }
  });

  test("hold every public module and no private one", () => {
    const isPublic = (file: string): boolean => /^(plugins|presets)\/[^_/]+(\/mod)?\.ts$/.test(file);
    const files = [...sources("plugins"), ...sources("presets")].filter(isPublic);
    const names = files.map((file) =>
      `./${file.replace(/(\/mod)?\.ts$/, "")}`
        .replace(/^\.\/presets$/, "./presets/mod")
        // It has the names of the AnyGPT specifications.
        .replace(/^\.\/presets\/compat$/, "./anygpt"),
    );
    const former = Object.keys(formerSubpaths).map((name) => `./${name}`);
    expect(Object.keys(deno.exports).toSorted()).toEqual([".", "./services", ...names, ...former].toSorted());
  });

  test.each(Object.entries(deno.exports))("%s imports and exports something", async (name, file) => {
    const module = await import(pathToFileURL(path(file)).href);
    expect([name, Object.keys(module).length > 0]).toEqual([name, true]);
    expect(Object.keys(module)).not.toContain("default");
  });

  test("hold files that exist, and that are packed", () => {
    for (const file of Object.values(node.exports).filter((entry) => typeof entry === "string")) {
      expect([file, existsSync(path(file))]).toEqual([file, true]);
      const packed = [...node.files, "package.json"].some(
        (entry) => file === `./${entry}` || file.startsWith(`./${entry}/`),
      );
      expect([file, packed]).toEqual([file, true]);
    }
  });
});

test("everything that is to be packed exists", () => {
  for (const file of node.files) expect([file, existsSync(path(file))]).toEqual([file, true]);
});

test.each(Object.entries(node.bin))(
  "the command %s is in the build, and starts with a line for the shell",
  (name, file) => {
    expect(file).toBe(`./dist/plugins/cli/${name}.js`);
    expect(read(file).split("\n")[0]).toBe("#!/usr/bin/env node");
  },
);

const importPattern =
  /^\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm;

/** Returns the modules that a source imports at run time. */
function imports(source: string): string[] {
  return [...withoutComments(source).matchAll(importPattern)]
    .filter(([, typeOnly]) => !typeOnly)
    .map(([, , name, dynamic]) => name ?? dynamic ?? "");
}

test("the core imports no plugin and no preset at run time", () => {
  const wrong = sources("core").flatMap((file) =>
    imports(read(file))
      .filter((name) => /plugins|presets/.test(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(wrong).toEqual([]);
});

test("plugins import no preset, but for the command line", () => {
  const wrong = sources("plugins").flatMap((file) =>
    imports(read(file))
      .filter((name) => name.includes("presets/") && !file.startsWith("plugins/cli/"))
      .map((name) => `${file}: ${name}`),
  );
  expect(wrong).toEqual([]);
});

test("every package that the code imports is a dependency", () => {
  const wrong = ["core", "plugins", "presets"].flatMap((folder) =>
    sources(folder).flatMap((file) =>
      imports(read(file))
        .filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
        .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"))
        .filter((name) => !Object.hasOwn({ ...node.peerDependencies, ...node.dependencies }, name))
        .map((name) => `${file}: ${name}`),
    ),
  );
  expect(wrong).toEqual([]);
});

/** The names that a module exports from files of its own folder, and where they are declared. */
function reexports(file: string): { name: string; from: string }[] {
  const folder = file.replace(/[^/]+$/, "");
  const lists = withoutComments(read(file)).matchAll(
    /export\s+(?:type\s+)?\{([^}]*)\}\s*from\s*"\.\/([^"]+)"/g,
  );
  return [...lists].flatMap(([, names = "", from = ""]) =>
    names
      .split(",")
      // Under the name of its declaration, if it is exported under another.
      .map((name) =>
        name
          .replace(/\btype\b/, "")
          .replace(/\bas\b.*/s, "")
          .trim(),
      )
      .filter(Boolean)
      .map((name) => ({ name, from: folder + from })),
  );
}

/** Returns the file that declares a name, through re-exports. */
function findDeclaration(file: string, name: string): string {
  const next = reexports(file).find((each) => each.name === name);
  return next ? findDeclaration(next.from, name) : file;
}

test.each(Object.values(deno.exports).map((file) => file.replace("./", "")))(
  "every symbol that %s exports is documented where it is declared",
  (file) => {
    const own = [
      ...withoutComments(read(file)).matchAll(
        /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function|class|interface|type) (\w+)/gm,
      ),
    ];
    const symbols = [...own.map(([, name = ""]) => ({ name, from: file })), ...reexports(file)];
    expect(symbols).not.toEqual([]);
    const undocumented = symbols.filter(({ name, from }) => {
      const declaration = `export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function|class|interface|type) ${name}\\b`;
      // A comment for the linter may stand between the two. An error kind has its description as data.
      const documented = `\\*/\\n(?:// .*\\n)*${declaration}|const ${name}: ErrorKind = defineError\\([^}]*\\bdescription:`;
      return !new RegExp(documented).test(read(findDeclaration(from, name)));
    });
    expect(undocumented).toEqual([]);
  },
);

test("the lock names the packages of every platform, so that it can be installed on any", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as {
    packages: Record<string, { optionalDependencies?: Record<string, string>; resolved?: string }>;
  };
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !packages[`${path}/node_modules/${name}`] && !packages[`node_modules/${name}`],
    ),
  );
  expect(missing).toEqual([]);
  expect(Object.values(packages).filter(({ resolved }) => resolved?.startsWith("http"))).toEqual([]);
});
