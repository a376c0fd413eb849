import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeFolder } from "./temporary-folder.ts";

/** Writes new files into a folder as long as it is there, for half a second. */
const writer = `
  const { writeFileSync } = require("node:fs");
  process.stdout.write("ready");
  for (let end = Date.now() + 500, n = 0; Date.now() < end; n++)
    try { writeFileSync(process.argv[1] + "/" + n, ""); } catch {}
`;

test.skipIf("Deno" in globalThis)("a folder is removed although a process still writes into it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolpipe-test-"));
  const child = spawn(process.execPath, ["-e", writer, folder], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  await removeFolder(folder);
  await ended;
  expect(existsSync(folder)).toBe(false);
});
