import { expect, test } from "vitest";
import {
  createSessions,
  parseCapabilities,
  parseClientInfo,
} from "../../../../plugins/serve/protocol/session.ts";

test("the session that was not used for longest is forgotten where there are too many", () => {
  const sessions = createSessions(2);
  const [one, two] = [sessions.begin(), sessions.begin()];
  expect(sessions.get(one.id)).toBe(one.session);
  const three = sessions.begin();
  expect(sessions.get(two.id)).toBeUndefined();
  expect(sessions.get(one.id)).toBe(one.session);
  expect(sessions.get(three.id)).toBe(three.session);
  expect(sessions.get(undefined)).toBeUndefined();
});

test("an actor with too many sessions loses its own, least recently used one, and no other actor's", () => {
  const sessions = createSessions(100, 2);
  const other = sessions.begin("other");
  const [one, two] = [sessions.begin("me"), sessions.begin("me")];
  sessions.get(one.id);
  const three = sessions.begin("me");
  expect([one, two, three, other].map(({ id }) => sessions.get(id) !== undefined)).toEqual([
    true,
    false,
    true,
    true,
  ]);
});

test("what a client says of itself is kept within bounds, and only where it is what it should be", () => {
  expect(parseCapabilities({ sampling: {} })).toEqual({ sampling: {} });
  expect(parseCapabilities({ sampling: { text: "x".repeat(30_000) } })).toEqual({});
  expect(parseCapabilities(["sampling"])).toEqual({});
  expect(parseClientInfo({ name: "n".repeat(500), version: 7 })).toEqual({ name: "n".repeat(200) });
  expect(parseClientInfo({ version: "1.0.0" })).toBeUndefined();
});
