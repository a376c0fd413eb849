import { nodeVersion } from "./_node.ts";
import { writePart } from "./_readme.ts";

// Each benchmark is loaded when it is asked for: one must not pay for what another imports.
const benchmarks: Readonly<Record<string, () => Promise<void>>> = {
  audit: async () => (await import("./audit.ts")).audit(),
  catalog: async () => (await import("./catalog.ts")).catalog(),
  discovery: async () => (await import("./discovery.ts")).discovery(),
  guard: async () => (await import("./guard.ts")).guardOverhead(),
  kill: async () => (await import("./kill.ts")).kill(),
  openapi: async () => (await import("./openapi.ts")).openapi(),
  pipeline: async () => (await import("./pipeline.ts")).pipeline(),
  relay: async () => (await import("./relay.ts")).relay(),
  quality: async () => (await import("./quality.ts")).quality(),
  search: async () => (await import("./search.ts")).search(),
  size: async () => (await import("./size.ts")).size(),
  "start-modules": async () => (await import("./start-modules.ts")).startModules(),
  types: async () => (await import("./types.ts")).types(),
  targets: async () => (await import("./targets.ts")).targets(),
  walk: async () => (await import("./walk.ts")).walk(),
};

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith("--"));
for (const name of names.length > 0 ? names : Object.keys(benchmarks)) {
  const benchmark = benchmarks[name];
  if (!benchmark) {
    process.stderr.write(
      `There is no benchmark "${name}". There are: ${Object.keys(benchmarks).join(", ")}.\n`,
    );
    process.exitCode = 1;
    break;
  }
  process.stdout.write(`\n## ${name} (Node ${nodeVersion()})\n\n`);
  const text = await printed(benchmark);
  // If the README has a part for it.
  if (args.includes("--write")) writePart(name, text);
}

/** Runs a benchmark, and returns what it prints. */
async function printed(benchmark: () => Promise<void>): Promise<string> {
  const write = process.stdout.write.bind(process.stdout);
  let text = "";
  process.stdout.write = ((chunk: string) => {
    text += chunk;
    return write(chunk);
  }) as typeof process.stdout.write;
  try {
    await benchmark();
  } finally {
    process.stdout.write = write;
  }
  return text;
}
