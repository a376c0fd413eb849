import { writePart } from "./_readme.ts";
import { tellStory } from "./_story.ts";
import { collectedTools, detailsTable, ownServersTools } from "./details.ts";
import { transcript } from "./transcript.ts";

const collected = collectedTools();
// What the README shows of real runs. `npm run record` prints it, and `npm run record -- --write` puts it there.
const isWanted = process.argv.includes("--write");
const parts = {
  transcript: ["```text", transcript(await tellStory()), "```"].join("\n"),
  details: await detailsTable(collected.length > 0 ? collected : await ownServersTools()),
};
for (const [name, text] of Object.entries(parts)) {
  process.stdout.write(`${text}\n\n`);
  // Other figures than those of the collection are worth a look, but are not what the README speaks of.
  if (isWanted && (name !== "details" || collected.length > 0)) writePart(name, text);
}
