import { describe, expect, test } from "vitest";
import { cacheFolder, type Environment, stateFolder } from "../../../plugins/lib/folders.ts";

describe("the folders", () => {
  test.each<[NodeJS.Platform, string, Environment, string, string]>([
    ["linux", "/home/a", {}, "/home/a/.local/state/toolpipe", "/home/a/.cache/toolpipe"],
    [
      "linux",
      "/home/a",
      { XDG_STATE_HOME: "/s", XDG_CACHE_HOME: "/c", LOCALAPPDATA: "no" },
      "/s/toolpipe",
      "/c/toolpipe",
    ],
    [
      "linux",
      "/home/a",
      { XDG_STATE_HOME: "relative", XDG_CACHE_HOME: "" },
      "/home/a/.local/state/toolpipe",
      "/home/a/.cache/toolpipe",
    ],
    ["freebsd", "/home/a", {}, "/home/a/.local/state/toolpipe", "/home/a/.cache/toolpipe"],
    [
      "darwin",
      "/Users/a",
      {},
      "/Users/a/Library/Application Support/toolpipe",
      "/Users/a/Library/Caches/toolpipe",
    ],
    ["darwin", "/Users/a", { XDG_STATE_HOME: "/s" }, "/s/toolpipe", "/Users/a/Library/Caches/toolpipe"],
    [
      "win32",
      "C:\\Users\\a",
      { LOCALAPPDATA: "D:\\Local", XDG_STATE_HOME: "/s" },
      "D:\\Local\\toolpipe\\state",
      "D:\\Local\\toolpipe\\cache",
    ],
    [
      "win32",
      "C:\\Users\\a",
      {},
      "C:\\Users\\a\\AppData\\Local\\toolpipe\\state",
      "C:\\Users\\a\\AppData\\Local\\toolpipe\\cache",
    ],
    ["linux", "/home/a", { TOOLPIPE_HOME: "/own", XDG_STATE_HOME: "/s" }, "/own/state", "/own/cache"],
    ["win32", "C:\\Users\\a", { TOOLPIPE_HOME: "E:\\own" }, "E:\\own\\state", "E:\\own\\cache"],
  ])("on %s with the home %s and %j are where they belong", (platform, home, env, state, cache) => {
    expect(stateFolder(env, platform, home)).toBe(state);
    expect(cacheFolder(env, platform, home)).toBe(cache);
  });

  test("of this machine are told without being asked for one", () => {
    expect(stateFolder()).toContain("toolpipe");
    expect(cacheFolder()).not.toBe(stateFolder());
  });
});
