import type { Tool } from "../../../core/mod.ts";
import type { Scored } from "../voice.ts";
import { type Gains, type Impacts, IN_NAME, scoreOf } from "./gains.ts";
import type { KeywordIndex, Ready } from "./index.ts";
import type { KeywordParameters } from "./options.ts";
import type { KeywordQuery } from "./query.ts";
import { createTop } from "./top.ts";

/** Of a word that nothing else stands for, nothing need be remembered. */
const ALONE = 0;

/** Finds the tools that score best, best first, and of equals the lower id; only of one server where it is given. */
export type Best = (query: KeywordQuery, count: number, server?: string) => readonly Scored[];

/** Makes the search for the best tools, which goes from the words of a query to the tools that have them. */
export function createBest(index: KeywordIndex, gains: () => Gains, parameters: KeywordParameters): Best {
  const most = scoreOf(parameters, 1, { name: 1, server: 1, query: 1 });
  let room = makeRoom(0);

  return (query, count, server) => {
    const current = gains();
    const { ready, namePart, serverPart } = current;
    const only = server === undefined ? undefined : index.segment(server);
    if (count <= 0 || (server !== undefined && !only)) return [];
    if (room.sums.length < ready.slots) room = makeRoom(ready.slots);
    query.concepts.forEach(({ members }, number) => {
      const concept = members.length > 1 ? number + 1 : ALONE;
      for (const { term, weight } of members) addTerm(room, current.impactsOf(term), weight, concept);
    });
    const from = only ? only.first : 0;
    const to = only ? only.first + only.tools.length : ready.slots;
    const { sums, found, concepts, inName, inServer, touched } = room;
    const top = createTop(count, (a, b) => (toolAt(ready, a)?.id ?? "") < (toolAt(ready, b)?.id ?? ""));
    for (let at = 0; at < room.count; at++) {
      const slot = touched[at] as number;
      const sum = sums[slot] as number;
      // Most of them cannot come among the best whatever else they have.
      if (sum * most >= top.least() && slot >= from && slot < to) {
        const coverage = {
          name: Math.min(1, (inName[slot] as number) * namePart(slot)),
          server: Math.min(1, (inServer[slot] as number) * serverPart(slot)),
          query: Math.min(1, (found[slot] as number) / query.idf),
        };
        top.offer(scoreOf(parameters, sum, coverage), slot);
      }
      sums[slot] = 0;
      found[slot] = 0;
      concepts[slot] = 0;
      inName[slot] = 0;
      inServer[slot] = 0;
    }
    room.count = 0;
    return top.sorted().flatMap(({ item, score }) => {
      const tool = toolAt(ready, item);
      return tool ? [{ tool, score }] : [];
    });
  };
}

/** One number a tool, for the query at hand. Each query leaves them as it found them: at 0. */
interface Room {
  readonly sums: Float64Array;
  /** What the words that were found are worth by their rarity. */
  readonly found: Float64Array;
  /** The concept that was last found, and what it added. */
  readonly concepts: Uint16Array;
  readonly conceptGains: Float64Array;
  readonly inName: Uint8Array;
  readonly inServer: Uint8Array;
  /** The tools that have anything of the query, and how many there are. */
  readonly touched: Uint32Array;
  count: number;
}

function makeRoom(slots: number): Room {
  return {
    sums: new Float64Array(slots),
    found: new Float64Array(slots),
    concepts: new Uint16Array(slots),
    conceptGains: new Float64Array(slots),
    inName: new Uint8Array(slots),
    inServer: new Uint8Array(slots),
    touched: new Uint32Array(slots),
    count: 0,
  };
}

/** Adds what one term is worth to every tool that has it; of terms with one meaning, only the best counts. */
function addTerm(room: Room, { slots, shares, where }: Impacts, weight: number, concept: number): void {
  const { sums, found, concepts, conceptGains, inName, inServer, touched } = room;
  let { count } = room;
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at] as number;
    const gain = weight * (shares[at] as number);
    const sum = sums[slot] as number;
    if (sum === 0) touched[count++] = slot;
    if (concept !== ALONE) {
      const isFirst = concepts[slot] !== concept;
      const earlier = isFirst ? 0 : (conceptGains[slot] as number);
      if (gain <= earlier) continue;
      concepts[slot] = concept;
      conceptGains[slot] = gain;
      if (!isFirst) {
        sums[slot] = sum + (gain - earlier);
        continue;
      }
    }
    sums[slot] = sum + gain;
    found[slot] = (found[slot] as number) + weight;
    const fields = where[at] as number;
    if (fields !== 0) {
      inName[slot] = (inName[slot] as number) + (fields & IN_NAME);
      inServer[slot] = (inServer[slot] as number) + (fields >> 1);
    }
  }
  room.count = count;
}

function toolAt({ segments }: Ready, slot: number): Tool | undefined {
  let low = 0;
  let high = segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((segments[middle]?.first ?? 0) <= slot) low = middle;
    else high = middle - 1;
  }
  const segment = segments[low];
  return segment?.tools[slot - segment.first];
}
