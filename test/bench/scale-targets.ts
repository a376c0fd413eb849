import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { node } from "./_node.ts";
import { fromRoot } from "./_root.ts";
import { measureDiscovery } from "./discovery.ts";
import { ask, open, type Row } from "./targets.ts";

/** Connections that discoveries leave open, and those that are asked at once besides. */
const MOST_OPEN = 32 + 5;

/** CPU milliseconds of `list_tools` for a server with 1,000 tools, once it is packed. */
export async function longList(home: string, env: NodeJS.ProcessEnv): Promise<Row> {
  const tools = Array.from({ length: 1_000 }, (_, index) => ({
    name: `tool_${index}`,
    description: `Reads shelf ${index} of the store. Takes its number.`,
  }));
  const told = fromRoot("test/fixtures/told-mcp.mjs");
  const file = await writeConfig(home, "long", {
    long: { command: node, args: [told, JSON.stringify({ tools })] },
  });
  const client = await open(file, env);
  const list = () => ask(client, "list_tools", { server: "long" });
  for (let round = 0; round < 50; round++) await list();
  const before = client.cpuMs();
  const rounds = 300;
  for (let round = 0; round < rounds; round++) await list();
  const value = (client.cpuMs() - before) / rounds;
  await client.end();
  return {
    what: "`list_tools`, CPU, a server with 1,000 tools",
    spec: "001:1330",
    value,
    unit: "ms",
    aim: 1,
  };
}

/** From spawn to the first answered search, with 1,000 servers that are remembered. */
export async function rememberedServers(file: string, env: NodeJS.ProcessEnv): Promise<Row> {
  const began = performance.now();
  const client = await open(file, env);
  await ask(client, "search_tools", { query: "list open issues" });
  const value = (performance.now() - began) / 1_000;
  await client.end();
  const what = "from spawn to the first search, 1,000 remembered servers";
  return { what, spec: "001:1329, 001:1331", value, unit: "s", aim: 5 };
}

/** A server as a loop of the shell: a thousand processes of Node would measure Node. */
const server = `while IFS= read -r line; do
  id=\${line#*'"id":'}; id=\${id%%[,\\}]*}
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}}';;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"read_'"$0"'","inputSchema":{"type":"object"}}]}}';;
    *'"id":'*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"Method not found"}}';;
  esac
done`;

/** Processes that are open at once while 1,000 servers that were never listed are asked. */
export async function unknownServers(home: string): Promise<Row> {
  const entries = Array.from({ length: 1_000 }, (_, index) => [
    `server-${index}`,
    { command: "sh", args: ["-c", server, String(index)] },
  ]);
  const file = await writeConfig(home, "unknown", Object.fromEntries(entries));
  const began = performance.now();
  const client = await open(file, { ...process.env, TOOLPIPE_HOME: join(home, "unknown") });
  let most = 0;
  for (let isComplete = false; !isComplete; ) {
    most = Math.max(most, await countChildren(client.pid));
    const answer = JSON.stringify(await ask(client, "search_tools", { query: "read_7" }));
    isComplete = !answer.includes("notSearched");
    await sleep(20);
  }
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  await client.end();
  const what = `servers open at once while 1,000 unknown ones are listed (all after ${seconds} s)`;
  return { what, spec: "001:1329", value: most, unit: "processes", aim: MOST_OPEN };
}

/** Wall time to ask slow servers, five at once. */
export async function discoveries(): Promise<Row[]> {
  await measureDiscovery({ servers: 1, eachMs: 0, parallel: 1 });
  const measure = async (servers: number, eachMs: number) =>
    (await measureDiscovery({ servers, eachMs, parallel: 5 })) / 1_000;
  return [
    {
      what: "10 servers of 2 s, five at once",
      spec: "004:361",
      value: await measure(10, 2_000),
      unit: "s",
      aim: 3,
    },
    {
      what: "5 servers of 1 s, five at once",
      spec: "004:362",
      value: await measure(5, 1_000),
      unit: "s",
      aim: 1.5,
    },
  ];
}

async function writeConfig(home: string, name: string, mcpServers: object): Promise<string> {
  await mkdir(join(home, name));
  const file = join(home, name, "toolpipe.config.json");
  await writeFile(file, JSON.stringify({ mcpServers }));
  return file;
}

async function countChildren(pid: number): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, "utf8").catch(() => "")),
  );
  return lists.flatMap((list) => list.split(" ")).filter(Boolean).length;
}
