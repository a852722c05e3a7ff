/** Requests to the HTTP API. The cookie of the session is sent by the browser. */

import { h } from "./dom.js";

const PAGE_SIZE = 200;
const MAX_ATTEMPTS = 30;
const RETRY_MILLISECONDS = 1000;

/** An answer that is not a success. */
export class ApiError extends Error {
  /** *status* is 0 if no answer came; *detail* is a sentence for people. */
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }

  /** Whether the API has no such resource: an endpoint, a host or a version. */
  get isMissing() {
    return this.status === 404;
  }
}

/** Return the address of *path* with *query*; empty parameters are omitted. */
export function address(path, query = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") params.set(name, value);
  }
  const text = params.toString();
  return `v1/${path}${text ? `?${text}` : ""}`;
}

async function ask(method, path, query, body, signal, headers = {}) {
  let response;
  try {
    response = await fetch(address(path, query), {
      method,
      signal,
      cache: "no-store",
      credentials: "same-origin",
      headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The console's server does not answer. It may have been stopped.");
  }
  if (!response.ok) {
    const found = await response.json().catch(() => null);
    if (response.status === 401 && path !== "session") {
      document.dispatchEvent(new CustomEvent("session-ended"));
      throw new ApiError(401, "The session has ended. Open the link of the console again, or give a token.");
    }
    throw new ApiError(response.status, sentenceOf(found) ?? `The server answered ${response.status}.`);
  }
  return response;
}

/** Return what is wrong with a request: *found* has a sentence, or the errors of single fields. */
function sentenceOf(found) {
  const errors = Array.isArray(found?.extra) ? found.extra.filter((one) => one?.message) : [];
  if (!errors.length) return found?.detail;
  return errors.map(({ key, message }) => (key ? `${key}: ${message}` : message)).join("; ");
}

async function request(...parts) {
  const response = await ask(...parts);
  return response.status === 204 ? null : response.json();
}

/** Save the file at *path*, under the name that the server states. */
export async function saveFile(path, query = {}) {
  const response = await ask("GET", path, query);
  const [, name = "file"] = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "") ?? [];
  saveBlob(await response.blob(), name);
}

/** Save *blob* as a file with the name *name*. */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** Return the resource at *path*. The server may be busy, or may still read all hosts: ask it again. */
export async function get(path, query = {}, signal = undefined) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request("GET", path, query, undefined, signal);
    } catch (error) {
      if (error.status !== 503 || attempt === MAX_ATTEMPTS) throw error;
    }
    await new Promise((resolve) => { setTimeout(resolve, RETRY_MILLISECONDS); });
    signal?.throwIfAborted();
  }
}

/** Make a change: POST, PUT or DELETE. Return the answer. */
export function send(method, path, body, query = {}, headers = {}) {
  return request(method, path, query, body, undefined, headers);
}

/**
 * Return one page of a list: `{items, next, total, isPartial}`. `next` is the cursor of the next
 * page, null at the end; `total` is undefined if the server does not count.
 */
export async function getPage(path, query = {}, cursor = null, signal = undefined) {
  const found = await get(path, { limit: PAGE_SIZE, ...query, cursor }, signal);
  if (Array.isArray(found)) return { items: found, next: null, total: found.length, isPartial: false };
  return { ...found, next: found.next ?? null, isPartial: found.is_partial ?? false };
}

/** Return the resource, or null if the API does not have it. */
export async function getIfPresent(path, query = {}, signal = undefined) {
  try {
    return await get(path, query, signal);
  } catch (error) {
    if (error instanceof ApiError && error.isMissing) return null;
    throw error;
  }
}

/** Return the path of the resource *name* of a crawl. */
export function crawlPath(crawl, name) {
  return `crawls/${encodeURIComponent(crawl)}/${name}`;
}
