// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { type Importer, stdio } from "./_expected.ts";
import { agents } from "./_importers-agents.ts";
import { editors } from "./_importers-editors.ts";

/** Every client, each with its real format and its real places. */
export const importers: readonly Importer[] = [
  {
    client: "claude-desktop",
    fixture: "claude-desktop.json",
    user: [
      {
        linux: "home/.config/Claude/claude_desktop_config.json",
        darwin: "home/Library/Application Support/Claude/claude_desktop_config.json",
        win32: "appdata/Claude/claude_desktop_config.json",
      },
      {
        linux: "home/.config/claude/claude_desktop_config.json",
        darwin: "home/Library/Application Support/Claude/claude_desktop_config.json",
        win32: "local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json",
      },
    ],
    servers: {
      "desktop-files": stdio("npx", [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/Users/ada/Documents",
      ]),
      "desktop-github": stdio("npx", ["-y", "@modelcontextprotocol/server-github"], {
        env: { GITHUB_PERSONAL_ACCESS_TOKEN: "${GITHUB_TOKEN}" },
      }),
    },
  },
  ...agents,
  ...editors,
  {
    client: "docker-mcp",
    fixture: "docker-mcp.json",
    user: "home/.docker/mcp-servers.json",
    servers: {
      "docker-github": stdio("docker", ["exec", "mcp-github", "mcp-github"], {
        env: { GITHUB_TOKEN: "${GITHUB_TOKEN}" },
      }),
      "docker-filesystem": stdio("docker", ["exec", "mcp-filesystem", "mcp-filesystem"]),
    },
  },
];
