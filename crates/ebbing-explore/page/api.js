// Requests to the server. Only the newest request of a page counts; older ones are dropped.

const id = Array.from(crypto.getRandomValues(new Uint32Array(2)), (n) => n.toString(36)).join("");
let last = 0;
const PATIENCE = 150;
const LONGEST = 8000;
const GONE = "The server does not answer: is ebbing explore still running?";

async function heard(promise) {
  try {
    return await promise;
  } catch (error) {
    throw error instanceof TypeError ? new Error(GONE) : error;
  }
}

async function answer(address, options) {
  const response = await heard(fetch(address, options));
  if (!response.ok) throw new Error((await heard(response.text())).trim() || `The server refuses this (${response.status}).`);
  return response;
}

/** The answer to one question of one state; reports progress, ends with the result or throws an error message. Requests `as` something else overtake only each other. */
export async function ask(question, state, { signal, progress = () => {}, as = "", first = false } = {}) {
  last += 1;
  const query = new URLSearchParams(state.slice(0, LONGEST));
  query.append("page.id", `${id}${as}`);
  query.append("page.number", String(last));
  if (first) query.append("page.first", "1");
  const response = await answer(`/api/answer/${question}?${query}`, { signal });
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { value, done } = await heard(reader.read());
    text += decoder.decode(value, { stream: !done });
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) {
      const result = JSON.parse(line);
      if (result.progress) progress(result.progress, result.share);
      else if (result.refused) throw new Error(result.refused);
      else if (result.left) throw new DOMException("overtaken", "AbortError");
      else return result;
    }
    if (done) throw new Error(GONE);
  }
}

/** Asks again and again for the newest state: at most one request is under way, and of those that wait only the newest is sent. */
export class Newest {
  constructor(handlers) {
    Object.assign(this, handlers);
  }

  send(state) {
    this.next = { state };
    if (!this.under) return this.begin();
    const left = PATIENCE - (performance.now() - this.since);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.under?.abort(), Math.max(0, left));
    return undefined;
  }

  cancel() {
    this.next = null;
    this.under?.abort();
  }

  async begin() {
    const { state } = this.next;
    this.next = null;
    const under = new AbortController();
    this.under = under;
    this.since = performance.now();
    try {
      const result = await ask("forecast", state, { signal: under.signal, first: true, progress: (...step) => this.progress(...step) });
      this.done(state, result, performance.now() - this.since);
    } catch (error) {
      // A newer state has been requested: nothing to report.
      if (error.name !== "AbortError" && !this.next) this.failed(state, error.message);
    } finally {
      clearTimeout(this.timer);
      this.under = null;
      if (this.next) this.begin();
    }
  }
}

/** What the page needs at the start, and the error in its address, if any. */
export async function start(state) {
  const response = await answer(`/api/start?${state.slice(0, LONGEST)}`);
  return heard(response.json());
}

/** A file to download, or an error message. */
export async function made(address) {
  const response = await answer(address);
  return heard(response.blob());
}

/** Sends a file; returns the name that the server knows it by, and how many classes it has where it is one set of several. */
export async function sendFile(file, largest) {
  if (file.size > largest) {
    const mib = (n) => `${Math.round(n / 1048576)} MiB`;
    throw new Error(`${file.name} has ${mib(file.size)}; the page accepts at most ${mib(largest)}: start ebbing explore --tasks FILE instead.`);
  }
  const query = new URLSearchParams({ name: file.name });
  const response = await heard(fetch(`/api/files?${query}`, { method: "POST", body: file, headers: { "x-ebbing": "1" } }));
  const json = response.headers.get("content-type") === "application/json";
  const result = await heard(json ? response.json() : response.text());
  if (!response.ok) throw new Error(result.refused ?? result);
  return result;
}
