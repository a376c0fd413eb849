// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { http, type Importer, stdio } from "./_expected.ts";

/** The agents that run in a terminal. */
export const agents: readonly Importer[] = [
  {
    client: "claude-code",
    fixture: "claude-code.json",
    user: "home/.claude.json",
    servers: {
      "code-local": stdio("node", ["server.js"], { env: { PORT: "3000" } }),
      "code-sentry": http("https://mcp.sentry.example/mcp", {
        Authorization: "Bearer ${SENTRY_TOKEN:-none}",
      }),
      "code-off": { ...stdio("off-server"), disabled: true },
    },
  },
  {
    client: "claude-code",
    fixture: "claude-code-project.json",
    project: ["project/.mcp.json"],
    servers: {
      "team-db": stdio("npx", ["-y", "@bytebase/dbhub", "--dsn", "${DB_DSN}"], {
        env: { LOG: "${LOG_LEVEL:-info}" },
      }),
      "team-events": http("https://events.example/sse", {}, "sse"),
      "team-refused": stdio("refused"),
    },
  },
  {
    client: "codex",
    fixture: "codex.toml",
    user: "home/.codex/config.toml",
    project: ["project/.codex/config.toml"],
    servers: {
      "codex-context7": {
        ...stdio("npx", ["-y", "@upstash/context7-mcp"], {
          env: { MY_ENV_VAR: "MY_ENV_VALUE" },
          envNames: ["LOCAL_TOKEN", "REMOTE_TOKEN"],
          cwd: "/srv/context7",
        }),
        startTimeoutMs: 20_000,
        callTimeoutMs: 45_500,
        tools: { include: ["resolve-library-id", "query-docs"], exclude: ["query-docs"] },
      },
      "codex-figma": {
        connection: {
          type: "http",
          url: "https://mcp.figma.example/mcp",
          headers: { "X-Figma-Region": "us-east-1", "X-Figma-Team": "${FIGMA_TEAM}" },
          bearerEnv: "FIGMA_OAUTH_TOKEN",
        },
      },
      "codex-off": { ...stdio("chrome-devtools-mcp"), disabled: true },
    },
  },
  {
    client: "gemini-cli",
    fixture: "gemini-cli.json",
    user: "home/.gemini/settings.json",
    project: ["project/.gemini/settings.json"],
    servers: {
      "gemini-python": {
        ...stdio("python", ["-m", "my_mcp_server", "--port", "8080"], {
          cwd: "./mcp-servers/python",
          env: { DATABASE_URL: "$DB_CONNECTION_STRING", API_KEY: "${EXTERNAL_API_KEY}" },
        }),
        callTimeoutMs: 15_000,
        tools: { include: ["safe_tool", "file_reader"], exclude: ["file_reader"] },
      },
      "gemini-sse": http("http://localhost:8080/sse", {}, "sse"),
      "gemini-http": {
        ...http("http://localhost:3000/mcp", { Authorization: "Bearer $GEMINI_TOKEN" }),
        callTimeoutMs: 5_000,
      },
      "gemini-off": { ...stdio("off"), disabled: true },
      "gemini-unlisted": { ...stdio("unlisted"), disabled: true },
    },
  },
  {
    client: "copilot",
    fixture: "copilot.json",
    user: "home/.copilot/mcp-config.json",
    servers: {
      "copilot-local": stdio("npx", ["@playwright/mcp@latest"]),
      "copilot-sentry": {
        ...http("https://sentry.example/mcp", { "X-Key": "$COPILOT_MCP_KEY" }),
        tools: { include: ["get_issue", "list_issues"] },
      },
    },
  },
  {
    client: "opencode",
    fixture: "opencode.jsonc",
    user: [
      "home/.config/opencode/opencode.json",
      {
        linux: "home/.config/opencode/opencode.jsonc",
        darwin: "home/.config/opencode/opencode.jsonc",
        win32: "appdata/opencode/opencode.jsonc",
      },
    ],
    project: ["project/opencode.json", "project/opencode.jsonc", "project/.opencode/opencode.json"],
    servers: {
      "opencode-local": {
        ...stdio("npx", ["-y", "my-mcp-command"], { env: { MY_ENV_VAR: "{env:OPENCODE_SECRET}" } }),
        startTimeoutMs: 7_000,
      },
      "opencode-remote": {
        ...http("https://opencode.example/mcp", { Authorization: "Bearer {env:OPENCODE_TOKEN}" }),
        disabled: true,
      },
    },
  },
  {
    client: "goose",
    fixture: "goose.yaml",
    user: {
      linux: "home/.config/goose/config.yaml",
      darwin: "home/.config/goose/config.yaml",
      win32: "appdata/Block/goose/config/config.yaml",
    },
    servers: {
      "goose-github": {
        ...stdio("npx", ["-y", "@modelcontextprotocol/server-github"], {
          env: { GITHUB_PERSONAL_ACCESS_TOKEN: "${GITHUB_PERSONAL_ACCESS_TOKEN}", LOG_LEVEL: "info" },
        }),
        description: "GitHub integration",
        callTimeoutMs: 300_000,
      },
      "goose-remote": {
        ...http("https://goose.example/mcp", { Authorization: "Bearer ${GOOSE_TOKEN}" }),
        disabled: true,
      },
      "goose-events": {
        ...http("https://goose.example/sse", {}, "sse"),
        tools: { include: ["read_events"] },
      },
    },
  },
  {
    client: "amp",
    fixture: "amp.json",
    user: {
      linux: "home/.config/amp/settings.json",
      darwin: "home/.config/amp/settings.json",
      win32: "appdata/amp/settings.json",
    },
    servers: {
      "amp-playwright": stdio("npx", ["-y", "@playwright/mcp@latest", "--headless"]),
      "amp-semgrep": http("https://amp.example/mcp", { Authorization: "Bearer ${SEMGREP_TOKEN}" }),
    },
  },
  {
    client: "crush",
    fixture: "crush.json",
    user: {
      linux: "home/.config/crush/crush.json",
      darwin: "home/.config/crush/crush.json",
      win32: "local/crush/crush.json",
    },
    project: ["project/.crush.json", "project/crush.json"],
    servers: {
      "crush-files": {
        ...stdio("node", ["/path/to/mcp-server.js"], { env: { NODE_ENV: "production" } }),
        callTimeoutMs: 120_000,
        tools: { exclude: ["some-tool-name"] },
      },
      "crush-github": http("https://crush.example/mcp/", { Authorization: "Bearer $GH_PAT" }),
      "crush-echo": http("https://crush.example/sse", { "API-Key": "${API_KEY}" }, "sse"),
    },
  },
  {
    client: "kimi",
    fixture: "kimi.json",
    user: "home/.kimi/mcp.json",
    servers: {
      "kimi-context7": http("https://kimi.example/mcp", { CONTEXT7_API_KEY: "key" }),
      "kimi-chrome": stdio("npx", ["-y", "chrome-devtools-mcp@latest"], { env: { KIMI: "1" } }),
    },
  },
  {
    client: "mistral-vibe",
    fixture: "mistral-vibe.toml",
    user: "home/.vibe/config.toml",
    project: ["project/.vibe/config.toml"],
    servers: {
      "vibe-http": http("http://localhost:8000", {
        "X-Region": "eu",
        "X-API-Key": "${MY_API_KEY_ENV_VAR}",
      }),
      "vibe-streamable": http("https://vibe.example/mcp", { Authorization: "Bearer ${MISTRAL_KEY}" }),
      "vibe-fetch": {
        ...stdio("uvx", ["mcp-server-fetch"], { env: { DEBUG: "1" } }),
        startTimeoutMs: 15_000,
        callTimeoutMs: 60_000,
      },
    },
  },
];
