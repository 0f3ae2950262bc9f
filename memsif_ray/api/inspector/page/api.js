// The public API of the same origin. Reading only: `post` is for search and answer, which change nothing here.

const ROOT = new URL("../", import.meta.url); // below whatever prefix the server is mounted at
const KEY = "memsif-api-key";

/** Why a request failed, in words for a person. */
export class Fault extends Error {
  constructor(message, { status = 0, requestId = "" } = {}) {
    super(message);
    this.status = status;
    this.requestId = requestId;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

async function request(path, options = {}) {
  const headers = { Accept: "application/json", ...options.headers };
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  let response;
  try {
    response = await fetch(new URL(path, ROOT), { ...options, headers, credentials: "omit" });
  } catch {
    throw new Fault("The server does not answer. Is it still running?");
  }
  if (response.ok) return response.json();
  throw await faultOf(response);
}

async function faultOf(response) {
  const about = { status: response.status, requestId: response.headers.get("X-Request-ID") ?? "" };
  const body = await response.json().catch(() => ({}));
  const fault = new Fault(body.error?.message ?? `The server answered ${response.status}.`, about);
  if (fault.status === 401) document.dispatchEvent(new CustomEvent("key-wanted"));
  return fault;
}

/** GET; query values that are null are left out. */
export function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const search = new URLSearchParams(given).toString();
  return request(search ? `${path}?${search}` : path);
}

export const post = (path, body) =>
  request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

/** The pages of a list, one request each, as they are asked for. */
export async function* pages(path, query = {}) {
  let cursor = null;
  do {
    const page = await get(path, { ...query, cursor });
    yield page;
    cursor = page.next_cursor;
  } while (cursor !== null);
}

/** The whole of a list. */
export async function all(path, query = {}) {
  const found = [];
  for await (const page of pages(path, { limit: 1000, ...query })) found.push(...page.results);
  return found;
}
