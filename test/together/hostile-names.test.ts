import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { quoteForShell } from "../../plugins/lib/terminal/output.ts";
import { place, write } from "../support/place.ts";
import { runMain } from "../support/run-cli.ts";

/** Runs a line in a shell in which `toolpipe` prints its arguments, one a line. */
function paste(line: string): readonly string[] {
  const script = `toolpipe() { printf '%s\\n' "$@"; }\n${line}`;
  return spawnSync("sh", ["-c", script], { encoding: "utf8" }).stdout.trimEnd().split("\n");
}

test.skipIf(process.platform === "win32")(
  "fault 86: a project server has a name with $(…): every command that is printed to be pasted has it quoted",
  { timeout: 120_000 },
  async () => {
    const { project } = await place();
    const mark = join(project, "executed");
    const name = `docs $(touch ${mark}) \`touch ${mark}\` '; touch ${mark}; '`;
    await write(project, { ".mcp.json": { mcpServers: { [name]: { command: "node", args: ["-v"] } } } });
    const outputs: string[] = [];
    for (const words of [
      ["approve"],
      ["list"],
      ["why", name],
      ["doctor"],
      ["tools", name],
      ["config", "show"],
    ]) {
      const { stdout, stderr } = await runMain(words);
      outputs.push(stdout, stderr);
    }
    const lines = outputs.flatMap((text) =>
      [...text.matchAll(/toolpipe (?:approve|why|login|inspect|tools|refresh) (?=\S*docs).*$/gm)].map(
        ([line]) => line,
      ),
    );
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) {
      const [, given] = paste(line);
      expect(given).toBe(name);
    }
    expect(existsSync(mark)).toBe(false);
  },
);

test("fault 86: control characters and invisible ones are left out of a quoted word", () => {
  expect(quoteForShell("plain-name")).toBe("plain-name");
  expect(quoteForShell("a\u001b[31mb\u202ec\u{e0041}d\r\ne")).toBe("'abcd e'");
  expect(quoteForShell("it's")).toBe("'it'\\''s'");
  expect(quoteForShell("")).toBe("''");
});
