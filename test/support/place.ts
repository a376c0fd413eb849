import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { temporaryFolder, writeFiles } from "./temporary-folder.ts";

/** Variables that lead to files outside of the home and the project. */
const ELSEWHERE = /^(XDG_|TOOLPIPE|CLAUDE|CLINE|CODEX|COPILOT|OPENCODE|VIBE|APPDATA$|LOCALAPPDATA$)/i;

/** The folders in which a command runs. */
export interface Place {
  readonly home: string;
  /** The current folder. */
  readonly project: string;
  readonly state: string;
}

/** Files by name; what is no text is written as JSON. */
export type Files = Readonly<Record<string, unknown>>;

/** Goes to a home and a project that hold these files and nothing else, until the test is over. */
export async function place(files: { readonly home?: Files; readonly project?: Files } = {}): Promise<Place> {
  const root = await temporaryFolder();
  const made = { home: join(root, "home"), project: join(root, "project"), state: join(root, "toolpipe") };
  for (const folder of [made.home, made.project]) await mkdir(folder);
  await write(made.home, files.home ?? {});
  await write(made.project, files.project ?? {});
  const before = { ...process.env };
  const cwd = process.cwd();
  onTestFinished(() => {
    process.chdir(cwd);
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  });
  for (const name of Object.keys(process.env)) if (ELSEWHERE.test(name)) delete process.env[name];
  Object.assign(process.env, { HOME: made.home, USERPROFILE: made.home, TOOLPIPE_HOME: made.state });
  process.chdir(made.project);
  return made;
}

/** Writes files into a folder. */
export async function write(folder: string, files: Files): Promise<void> {
  const texts = Object.entries(files).map(([name, content]) => [
    name,
    typeof content === "string" ? content : JSON.stringify(content),
  ]);
  await writeFiles(folder, Object.fromEntries(texts));
}

/** A definition of a server, as most clients write it. */
export type Definition = Readonly<Record<string, unknown>>;

const path = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const npm = (name: string): string => path(`node_modules/${name}/dist/index.js`);

/** A server of our own that can do everything wrong. */
export function faulty(mode = "ok", ...more: string[]): Definition {
  return { command: "node", args: [path("test/fixtures/faulty-mcp.mjs"), "--mode", mode, ...more] };
}

/** A command that is not there. */
export const dead: Definition = { command: "/nowhere/to-be-found" };

/** Servers as they come from npm. */
export const real: {
  readonly everything: Definition;
  readonly time: Definition;
  memory(file: string): Definition;
  files(folder: string): Definition;
} = {
  everything: { command: "node", args: [npm("@modelcontextprotocol/server-everything"), "stdio"] },
  time: { command: "node", args: [npm("time-mcp")] },
  memory: (file) => ({
    command: "node",
    args: [npm("@modelcontextprotocol/server-memory")],
    env: { MEMORY_FILE_PATH: file },
  }),
  files: (folder) => ({ command: "node", args: [npm("@modelcontextprotocol/server-filesystem"), folder] }),
};

/** A server that leaves a line in a file whenever it is started. */
export async function marking(folder: string): Promise<{ definition: Definition; marks: string }> {
  const marks = join(folder, "marks");
  const [server] = faulty()["args"] as string[];
  await write(folder, {
    marks: "",
    "marking.mjs": `import { appendFileSync } from "node:fs";
appendFileSync(${JSON.stringify(marks)}, "started\\n");
await import(${JSON.stringify(server)});`,
  });
  return { definition: { command: "node", args: [join(folder, "marking.mjs")] }, marks };
}
