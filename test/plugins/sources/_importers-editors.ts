// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { desktop, http, type Importer, stdio } from "./_expected.ts";

const clineFile = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
const rooFile = "User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json";

/** The editors, and desktop applications besides Claude's. */
export const editors: readonly Importer[] = [
  {
    client: "cursor",
    fixture: "cursor.json",
    user: "home/.cursor/mcp.json",
    project: ["project/.cursor/mcp.json"],
    servers: {
      "cursor-python": stdio("python", ["${workspaceFolder}/mcp-server.py"], {
        env: { API_KEY: "${env:MY_API_KEY}" },
        envFile: "${workspaceFolder}/.env",
      }),
      "cursor-remote": http("https://api.cursor.example/mcp", {
        Authorization: "Bearer ${env:MY_SERVICE_TOKEN}",
      }),
    },
  },
  {
    client: "vscode",
    fixture: "vscode.json",
    user: [
      desktop("Code/User/mcp.json"),
      desktop("Code - Insiders/User/mcp.json"),
      desktop("Code/User/profiles/-6c1f4b2a/mcp.json"),
    ],
    project: ["project/.vscode/mcp.json"],
    servers: {
      "vscode-perplexity": {
        ...stdio("npx", ["-y", "server-perplexity-ask"], {
          env: { PERPLEXITY_API_KEY: "${input:perplexity-key}" },
          envFile: "${workspaceFolder}/.env",
        }),
        inputs: { "perplexity-key": { description: "Perplexity API key", password: true } },
      },
      "vscode-github": http("https://api.githubcopilot.example/mcp/"),
      "vscode-events": http("http://127.0.0.1:8000/sse", { "X-Version": "1.2" }, "sse"),
    },
  },
  {
    client: "windsurf",
    fixture: "windsurf.json",
    user: [
      "home/.codeium/windsurf/mcp_config.json",
      "home/.codeium/mcp_config.json",
      "home/.windsurf/mcp.json",
    ],
    servers: {
      "windsurf-github": {
        ...stdio("node", ["/path/to/github-mcp/index.js"], { env: { GITHUB_TOKEN: "${GITHUB_TOKEN}" } }),
        tools: { exclude: ["delete_repo"] },
      },
      "windsurf-figma": {
        ...http("https://figma.example/mcp", { API_KEY: "Bearer ${env:FIGMA_TOKEN}" }),
        disabled: true,
      },
    },
  },
  {
    client: "devin",
    fixture: "devin.json",
    user: ["mcp_config.json", "config.json"].map((file) => ({
      linux: `home/.config/devin/${file}`,
      darwin: `home/.config/devin/${file}`,
      win32: `appdata/devin/${file}`,
    })),
    project: [
      "project/.devin/mcp_config.json",
      "project/.devin/config.json",
      "project/.devin/config.local.json",
    ],
    servers: {
      "devin-linear": http("https://mcp.linear.example/mcp"),
      "devin-time": stdio("uvx", ["mcp-server-time"]),
    },
  },
  {
    client: "zed",
    fixture: "zed.jsonc",
    user: [
      "home/.config/zed/settings.json",
      {
        linux: "home/.config/zed/settings.json",
        darwin: "home/.config/zed/settings.json",
        win32: "appdata/Zed/settings.json",
      },
    ],
    project: ["project/.zed/settings.json"],
    servers: {
      "zed-local": stdio("some-command", ["arg-1", "arg-2"]),
      "zed-older": stdio("older-command", ["--stdio"], { env: { DEBUG: "1" } }),
      "zed-remote": http("https://zed.example/mcp", { Authorization: "Bearer t" }),
    },
  },
  {
    client: "antigravity",
    fixture: "antigravity.json",
    user: "home/.gemini/antigravity/mcp_config.json",
    servers: {
      "antigravity-remote": {
        ...http("https://antigravity.example/mcp/"),
        tools: { exclude: ["drop"] },
      },
      "antigravity-local": stdio("npx", ["-y", "chrome-devtools-mcp@latest"]),
    },
  },
  {
    client: "cline",
    fixture: "cline.json",
    user: [
      desktop(`Code/${clineFile}`),
      desktop(`Cursor/${clineFile}`),
      desktop(`Code - Insiders/${clineFile}`),
      "home/.cline/data/settings/cline_mcp_settings.json",
    ],
    servers: {
      "cline-local": {
        ...stdio("node", ["/path/to/server.js"], { env: { API_KEY: "key" } }),
        callTimeoutMs: 60_000,
      },
      "cline-remote": {
        ...http("https://cline.example/mcp", { Authorization: "Bearer token" }),
        disabled: true,
      },
    },
  },
  {
    client: "roo",
    fixture: "roo.json",
    user: [desktop(`Code/${rooFile}`), desktop(`Cursor/${rooFile}`)],
    project: ["project/.roo/mcp.json"],
    servers: {
      "roo-remote": http("https://roo.example/api/mcp", { "X-API-Key": "key" }),
      "roo-local": {
        ...stdio("npx", ["-y", "@scope/server"], { cwd: "/path/to/project" }),
        callTimeoutMs: 30_000,
        tools: { exclude: ["tool2"] },
      },
    },
  },
  {
    client: "continue",
    fixture: "continue.yaml",
    user: "home/.continue/config.yaml",
    servers: {
      "continue-sqlite": {
        ...stdio("npx", ["-y", "mcp-sqlite", "/path/to/your/database.db"], {
          env: { TOKEN: "${{ secrets.SQLITE_TOKEN }}" },
        }),
        startTimeoutMs: 8_000,
      },
      "continue-remote": http("https://continue.example/mcp", {
        Authorization: "Bearer ${{ secrets.REMOTE_TOKEN }}",
      }),
      "continue-events": http("https://continue.example/sse", {}, "sse"),
    },
  },
  {
    client: "continue",
    fixture: "continue-block.yaml",
    project: ["project/.continue/mcpServers/playwright.yaml"],
    servers: { "continue-browser": stdio("npx", ["@playwright/mcp@latest", "--isolated"]) },
  },
  {
    client: "continue",
    fixture: "continue-block.json",
    user: "home/.continue/mcpServers/copied.json",
    project: ["project/.continue/mcpServers/copied.json"],
    servers: { "continue-copied": stdio("npx", ["-y", "copied-from-claude"]) },
  },
  {
    client: "lm-studio",
    fixture: "lm-studio.json",
    user: ["home/.lmstudio/mcp.json", "home/.cache/lm-studio/mcp.json"],
    servers: {
      "lm-hf": {
        ...http("https://huggingface.example/mcp", { Authorization: "Bearer <YOUR_HF_TOKEN>" }),
        callTimeoutMs: 30_000,
      },
    },
  },
  {
    client: "kiro",
    fixture: "kiro.json",
    user: "home/.kiro/settings/mcp.json",
    project: ["project/.kiro/settings/mcp.json"],
    servers: {
      "kiro-local": {
        ...stdio("uvx", ["server-name@latest"], { env: { API_TOKEN: "${API_TOKEN}" } }),
        callTimeoutMs: 120_000,
        tools: { exclude: ["delete_file"] },
      },
      "kiro-remote": { ...http("https://kiro.example/mcp"), disabled: true },
    },
  },
  {
    client: "trae",
    fixture: "trae.json",
    user: desktop("Trae/User/mcp.json"),
    servers: { "trae-sqlite": stdio("uvx", ["mcp-server-sqlite"]) },
  },
  {
    client: "junie",
    fixture: "junie.json",
    user: "home/.junie/mcp/mcp.json",
    project: ["project/.junie/mcp/mcp.json"],
    servers: { "junie-tree": stdio("npx", ["-y", "tree-mcp"], { env: { DEPTH: "3" } }) },
  },
  {
    client: "jetbrains-air",
    fixture: "jetbrains-air.json",
    project: ["project/.air/mcp.json"],
    servers: { "air-docs": http("https://air.example/mcp") },
  },
];
