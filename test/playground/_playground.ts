import { request } from "node:http";
import { onTestFinished } from "vitest";
import { type Playground, type PlaygroundOptions, servePlayground } from "../../playground/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Tools that share words, so that rankers have something to disagree about. */
export const someTools: readonly object[] = [
  { id: "files:read_file", server: "files", name: "read_file", description: "Reads a text from the disk." },
  { id: "files:write_file", server: "files", name: "write_file", description: "Writes a text to the disk." },
  { id: "git:log", server: "git", name: "log", description: "Shows who changed a file. Reads the history." },
  { id: "time:now", server: "time", name: "now", description: "Tells what time it is." },
];

/** Queries over them; the last is about something that none of them does. */
export const someQueries: readonly object[] = [
  { query: "read file", relevant: ["files:read_file"] },
  { query: "who changed this", relevant: ["git:log"], kind: "plain" },
  { query: "qwertyuiop", relevant: [] },
];

/** One JSON object a line. */
export function lines(values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

/** Opens a playground over these tools and queries, until the test is over. */
export async function openPlayground(options: PlaygroundOptions = {}): Promise<Playground> {
  const folder = await temporaryFolder({
    "tools.jsonl": lines(someTools),
    "queries.jsonl": lines(someQueries),
  });
  const playground = await servePlayground({
    tools: `${folder}/tools.jsonl`,
    queries: `${folder}/queries.jsonl`,
    ...options,
  });
  onTestFinished(() => playground.close());
  return playground;
}

/** The answer to a request. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends a request as it is: `fetch` would not let a test lie about the host. */
export function send(
  url: string,
  {
    method = "GET",
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Sends JSON as the page does. */
export async function post(url: string, body: unknown): Promise<{ status: number; body: unknown }> {
  const headers = { "content-type": "application/json", origin: new URL(url).origin };
  const { status, text } = await send(url, { method: "POST", headers, body: JSON.stringify(body) });
  return { status, body: JSON.parse(text) };
}
