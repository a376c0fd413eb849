import { writePart } from "./_readme.ts";
import { tellStory } from "./_story.ts";
import { collectedTools, detailsTable, ownServersTools } from "./details.ts";
import { transcript } from "./transcript.ts";

const collected = collectedTools();
// Records the runs that the README quotes. `npm run record` prints it, and `npm run record -- --write` puts it there.
const isWanted = process.argv.includes("--write");
const parts = {
  transcript: ["```text", transcript(await tellStory()), "```"].join("\n"),
  details: await detailsTable(collected.length > 0 ? collected : await ownServersTools()),
};
for (const [name, text] of Object.entries(parts)) {
  process.stdout.write(`${text}\n\n`);
  // Measurements of another collection are printed, but are not those of the README.
  if (isWanted && (name !== "details" || collected.length > 0)) writePart(name, text);
}
