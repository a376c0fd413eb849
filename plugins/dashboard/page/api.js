/**
 * @typedef {import("../overview.ts").Overview} Overview
 * @typedef {import("../overview.ts").PendingRow} Pending
 */

const KEY = "toolpipe-token";

/** The gateway did not let us in; `why` is what it said. */
export class SignInNeeded extends Error {}

/** Whether a token is kept. */
export function isSignedIn() {
  return sessionStorage.getItem(KEY) !== null;
}

/** @param {string} token */
export function keepToken(token) {
  sessionStorage.setItem(KEY, token);
}

export function forgetToken() {
  sessionStorage.removeItem(KEY);
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<any>}
 */
async function send(path, options = {}) {
  const token = sessionStorage.getItem(KEY);
  const headers = new Headers(options.headers);
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "omit" });
  } catch {
    throw new Error("The gateway does not answer.");
  }
  const body = await response.json().catch(() => undefined);
  if (response.ok) return body;
  const why = body?.error?.message ?? `The gateway answered HTTP ${response.status}.`;
  if (response.status === 401 || (response.status === 403 && options.method === undefined))
    throw new SignInNeeded(token === null ? "" : why);
  throw new Error(why);
}

/**
 * Reads the data of the page, with the calls after a number.
 *
 * @param {number} since
 * @returns {Promise<Overview>}
 */
export function look(since) {
  return send(`dashboard/data?since=${since}`);
}

/**
 * Tells what a person decided, and returns what still waits.
 *
 * @param {Pending} what
 * @param {boolean} grant
 * @param {string} token
 * @returns {Promise<{ pending: Pending[] }>}
 */
export function decide({ kind, id, hash }, grant, token) {
  return send("dashboard/decide", {
    method: "POST",
    headers: { "content-type": "application/json", "x-toolpipe-token": token },
    body: JSON.stringify({ kind, id, hash, grant }),
  });
}
