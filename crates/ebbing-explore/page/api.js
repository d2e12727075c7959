// Requests to the server. Of one page only the newest counts; what is overtaken is left.

const id = Array.from(crypto.getRandomValues(new Uint32Array(2)), (n) => n.toString(36)).join("");
// Numbers grow over reloads too, so that a reload overtakes what was asked before it.
let last = Date.now();
/** A request that takes longer than this is left when the user moves on; a shorter one is waited for. */
const PATIENCE = 150;

/** One view of one state; tells progress, ends with the result or throws a sentence. */
export async function ask(view, state, { signal, progress = () => {}, ahead = false } = {}) {
  last += 1;
  const query = new URLSearchParams(state);
  query.append("page.id", ahead ? `${id}-ahead` : id);
  query.append("page.number", String(last));
  if (window.innerWidth < 700) query.append("page.narrow", "1");
  const response = await fetch(`/api/view/${view}?${query}`, { signal });
  if (!response.ok) throw new Error(await response.text());
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) {
      const told = JSON.parse(line);
      if (told.progress) progress(told.progress);
      else if (told.refused) throw new Error(told.refused);
      else if (told.left) throw new DOMException("overtaken", "AbortError");
      else return told;
    }
    if (done) throw new Error("The server ended the answer: is it still running?");
  }
}

/** Asks again and again for the newest state: at most one request is under way, and of those that wait only the newest is sent. */
export class Newest {
  constructor(handlers) {
    Object.assign(this, handlers);
  }

  send(view, state) {
    this.next = { view, state };
    if (!this.under) return this.begin();
    const left = PATIENCE - (performance.now() - this.since);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.under?.abort(), Math.max(0, left));
    return undefined;
  }

  async begin() {
    const { view, state } = this.next;
    this.next = null;
    const under = new AbortController();
    this.under = under;
    this.since = performance.now();
    try {
      const told = await ask(view, state, { signal: under.signal, progress: (step) => this.progress(step) });
      this.done(view, state, told, performance.now() - this.since);
    } catch (error) {
      if (error.name !== "AbortError") this.failed(state, error.message);
    } finally {
      clearTimeout(this.timer);
      this.under = null;
      if (this.next) this.begin();
    }
  }
}

/** What the page needs at the start, and what is wrong with its address. */
export async function start(state) {
  const response = await fetch(`/api/start?${state}`);
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** Sends a file; returns the name that the server knows it by. */
export async function sendFile(file, largest) {
  if (file.size > largest) {
    const mib = (n) => `${Math.round(n / 1048576)} MiB`;
    throw new Error(`${file.name} has ${mib(file.size)}; the page takes ${mib(largest)} at most: start ebbing explore --tasks FILE instead.`);
  }
  const query = new URLSearchParams({ name: file.name });
  const response = await fetch(`/api/files?${query}`, { method: "POST", body: file, headers: { "x-ebbing": "1" } });
  const told = await response.json();
  if (told.refused) throw new Error(told.refused);
  return told.name;
}
