import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { removeFolder } from "./temporary-folder.ts";

// A gateway keeps state, a cache and an audit where the user's are kept. Tests have no business there, whatever they open.
const home = mkdtempSync(join(tmpdir(), "toolpipe-home-"));
process.env["TOOLPIPE_HOME"] ??= home;
afterAll(() => removeFolder(home));
