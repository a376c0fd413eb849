import { access, readdir, readFile, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, ToolDefinition } from "../../../core/mod.ts";
import {
  type ApprovalParts,
  approvedFolder,
  CAPABILITIES,
  listRecords,
  promote,
  readCapabilityRecord,
  requestApproval,
  withdraw,
  writeCapabilities,
} from "../../../plugins/discovery/capability-files/mod.ts";
import { jsonSchema } from "../../../plugins/types/json-schema.ts";
import { rtfs, typeEmitters } from "../../../plugins/types/mod.ts";
import { catchFailure } from "../../support/failure.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { introspected, listIssues, parts, plainTool } from "./_parts.ts";

const CAPABILITY = `(capability :mcp.github.list_issues
  :version "1.0.0"
  :description "List issues in a GitHub repository"
  :input-schema [:map
    [:owner :string]
    [:repo :string]
    [:state {:optional true} :string]]
  :output-schema [:vector [:map
    [:id :int]
    [:title :string]
    [:state :string]]]
  :provider {:type :mcp
             :server-url "https://api.github.com/mcp"
             :tool-name "list_issues"}
  :domains ["github" "github.issues"]
  :categories ["crud.read"])
`;

interface Place {
  readonly folder: string;
  readonly approved: string;
}

async function pendingPlace(): Promise<Place> {
  const folder = join(await temporaryFolder(), "capabilities", "servers", "pending");
  return { folder, approved: approvedFolder(folder) };
}

async function request(
  own: ApprovalParts,
  { folder }: Place,
  tools: readonly ToolDefinition[],
  more: Parameters<typeof introspected>[1] = {},
) {
  return requestApproval(own, introspected(tools, more), { folder, emitter: rtfs });
}

/** Promotes, and says what was registered. */
async function approveAll(own: ApprovalParts, server: string, tool?: string) {
  const registered: { server: string; entry: JsonObject; only: readonly string[] | undefined }[] = [];
  const promoted = await promote(own, {
    server,
    tool,
    config: "/config.json",
    register: async (name, entry, only) => void registered.push({ server: name, entry, only }),
  });
  return { promoted, registered };
}

describe("a request for approval", () => {
  test("writes what the specification shows, byte for byte", async () => {
    const place = await pendingPlace();
    const { waiting, folder } = await request(parts(), place, [listIssues]);
    expect(folder).toBe(join(place.folder, "github"));
    expect(waiting.map(({ file }) => file)).toEqual(["list_issues.rtfs"]);
    expect(await readFile(join(place.folder, "github", "list_issues.rtfs"), "utf8")).toBe(CAPABILITY);
  });

  test("is one file a tool, in every format", async () => {
    const folder = await temporaryFolder();
    const manifests = introspected([listIssues, plainTool("search_code")]).tools.map(
      ({ manifest }) => manifest,
    );
    for (const emitter of typeEmitters) {
      await writeCapabilities({ folder, server: "github", manifests, emitter });
    }
    expect((await readdir(join(folder, "github"))).toSorted()).toEqual([
      "list_issues.json",
      "list_issues.rtfs",
      "list_issues.ts",
      "search_code.json",
      "search_code.rtfs",
      "search_code.ts",
    ]);
    expect(JSON.parse(await readFile(join(folder, "github", "list_issues.json"), "utf8"))).toMatchObject({
      id: "mcp.github.list_issues",
      categories: ["crud.read"],
    });
  });

  test("of a hostile server stays in its folder, whatever its names are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("../../plugins", "/", "..\\x", "a/../../b", "CON", "x\0y"),
        fc.uniqueArray(
          fc.oneof(fc.constantFrom("../../../up", "nul", "A", "a", "..", "/etc/x"), fc.string()),
          {
            minLength: 1,
            maxLength: 5,
          },
        ),
        async (server, names) => {
          const root = await temporaryFolder();
          const folder = join(root, "capabilities", "servers", "pending");
          const made = introspected(names.map((name) => plainTool(name)));
          const emitter = jsonSchema;
          const manifests = made.tools.map(({ manifest }) => manifest);
          const written = await writeCapabilities({ folder, server, manifests, emitter });
          expect(await readdir(root)).toEqual(["capabilities"]);
          const [only = "", ...others] = await readdir(folder);
          expect(others).toEqual([]);
          expect((await readdir(join(folder, only))).toSorted()).toEqual(
            written.map(({ file }) => file).toSorted(),
          );
          expect(written).toHaveLength(names.length);
        },
      ),
      { numRuns: 25 },
    );
  });

  test.skipIf(process.platform === "win32")("does not follow a symbolic link with its name", async () => {
    const place = await pendingPlace();
    await request(parts(), place, [plainTool("a")], { server: "other" });
    const elsewhere = await temporaryFolder();
    await symlink(elsewhere, join(place.folder, "github"));
    expect(await catchFailure(request(parts(), place, [listIssues]))).toMatchObject({
      code: "CONFIG_INVALID",
    });
    expect(await readdir(elsewhere)).toEqual([]);
  });

  test("of tools that are gone takes their files with it, but none that the user changed", async () => {
    const place = await pendingPlace();
    const own = parts();
    await request(own, place, [plainTool("a"), plainTool("b"), plainTool("c")]);
    await writeFile(join(place.folder, "github", "b.rtfs"), "mine");
    await request(own, place, [plainTool("c")]);
    expect((await readdir(join(place.folder, "github"))).toSorted()).toEqual(["b.rtfs", "c.rtfs"]);
  });
});

describe("a promotion", () => {
  test("moves the files, registers the server, and leaves nothing waiting", async () => {
    const place = await pendingPlace();
    const own = parts();
    await request(own, place, [listIssues, plainTool("search_code")]);
    expect((await own.approvals.list())[0]).toMatchObject({ kind: CAPABILITIES, status: "pending" });
    const { promoted, registered } = await approveAll(own, "github");
    expect(promoted).toMatchObject({ left: 0, folder: join(place.approved, "github") });
    expect(registered).toEqual([
      { server: "github", entry: { url: "https://api.github.com/mcp" }, only: undefined },
    ]);
    expect(await readFile(join(place.approved, "github", "list_issues.rtfs"), "utf8")).toBe(CAPABILITY);
    await expect(access(join(place.folder, "github"))).rejects.toThrow();
    expect(await own.approvals.list()).toMatchObject([{ kind: CAPABILITIES, status: "approved" }]);
    expect((await readCapabilityRecord(own.store, "github"))?.pending).toBeUndefined();
    expect(await catchFailure(approveAll(own, "github"))).toMatchObject({ code: "TOOL_NOT_FOUND" });
  });

  test("of one tool leaves the others waiting, and registers no other", async () => {
    const place = await pendingPlace();
    const own = parts();
    await request(own, place, [listIssues, plainTool("b"), plainTool("c")]);
    const first = await approveAll(own, "github", "b");
    expect(first.promoted.left).toBe(2);
    expect(first.registered[0]?.only).toEqual(["b"]);
    expect(await readdir(join(place.approved, "github"))).toEqual(["b.rtfs"]);
    expect((await own.approvals.list())[0]).toMatchObject({ status: "changed" });
    const rest = await approveAll(own, "github");
    expect(rest.registered[0]?.only).toBeUndefined();
    expect(
      (await readCapabilityRecord(own.store, "github"))?.approved?.tools.map(({ name }) => name),
    ).toEqual(["b", "list_issues", "c"]);
    expect((await own.approvals.list())[0]).toMatchObject({ status: "approved" });
    expect(await catchFailure(approveAll(own, "github", "nothing"))).toMatchObject({
      code: "TOOL_NOT_FOUND",
    });
  });

  test.each<[string, (file: string) => Promise<void>]>([
    ["changed", (file) => writeFile(file, "(capability :evil)\n")],
    ["removed", (file) => unlink(file)],
  ])("is refused where a file was %s, and approves nothing", async (_, edit) => {
    const place = await pendingPlace();
    const own = parts();
    await request(own, place, [listIssues, plainTool("b")]);
    const file = join(place.folder, "github", "b.rtfs");
    await edit(file);
    const failure = await catchFailure(approveAll(own, "github"));
    expect(failure).toMatchObject({ code: "CAPABILITY_EDITED" });
    expect(failure.message).toBe(
      `Nothing was approved: these files are not as they were written: ${file}. Write them again with: toolpipe introspect github`,
    );
    expect((await readCapabilityRecord(own.store, "github"))?.approved).toBeUndefined();
    await expect(access(place.approved)).rejects.toThrow();
    // The other one is as it was.
    expect((await approveAll(own, "github", "list_issues")).promoted.left).toBe(1);
  });

  test("that ends half way can be made again, and approves nothing until then", async () => {
    const place = await pendingPlace();
    const own = parts();
    await request(own, place, [listIssues]);
    const broken = promote(own, {
      server: "github",
      config: "/config.json",
      register: async () => {
        throw new Error("The disk is full.");
      },
    });
    await expect(broken).rejects.toThrow("The disk is full.");
    expect((await own.approvals.list())[0]).toMatchObject({ status: "pending" });
    expect((await approveAll(own, "github")).promoted.left).toBe(0);
    expect((await own.approvals.list())[0]).toMatchObject({ status: "approved" });
  });

  test("holds for the inspected definition: a changed tool waits again, and no other does", async () => {
    const place = await pendingPlace();
    const own = parts();
    await request(own, place, [plainTool("a"), plainTool("b")]);
    await approveAll(own, "github");
    const same = await request(own, place, [plainTool("a"), plainTool("b")]);
    expect(same).toMatchObject({ waiting: [], unchanged: 2 });
    const changed = await request(own, place, [plainTool("a"), plainTool("b", "Another"), plainTool("c")]);
    expect(changed.waiting.map(({ name }) => name)).toEqual(["b", "c"]);
    expect((await own.approvals.list())[0]).toMatchObject({ status: "changed" });
    const moved = await request(own, place, [plainTool("a")], { url: "https://elsewhere.example/mcp" });
    expect(moved.waiting.map(({ name }) => name)).toEqual(["a"]);
  });

  test("is revoked with its files and all pending tools", async () => {
    const place = await pendingPlace();
    const own = parts();
    await request(own, place, [plainTool("a"), plainTool("b")]);
    await approveAll(own, "github", "a");
    const configs: string[] = [];
    expect(await withdraw(own, "github", async (config) => void configs.push(config))).toBe(true);
    expect(configs).toEqual(["/config.json"]);
    expect(await listRecords(own.store)).toEqual([]);
    expect(await own.approvals.list()).toEqual([]);
    for (const folder of [place.folder, place.approved]) {
      await expect(access(join(folder, "github"))).rejects.toThrow();
    }
    expect(await withdraw(own, "github", async () => {})).toBe(false);
  });
});

test("a discovery exports to the folder that it is told", async () => {
  const directory = join(await temporaryFolder(), "out");
  const manifests = introspected([listIssues]).tools.map(({ manifest }) => manifest);
  await writeCapabilities({ folder: directory, server: "github", manifests, emitter: rtfs });
  expect(await readFile(join(directory, "github", "list_issues.rtfs"), "utf8")).toBe(CAPABILITY);
});
