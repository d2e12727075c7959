// The state of the page, which its address holds, and the states before it: Undo, Back and Forward go through those that were settled.

/** Keys of the page itself: what it shows of an answer. */
const OWN = "page.";

export class State {
  constructor() {
    this.keys = new Map();
    this.moving = false;
  }

  get(key) {
    return this.keys.get(key);
  }

  has(key) {
    return this.keys.has(key);
  }

  /** As the address writes it; without the page's own keys where a request is asked for. */
  write(own = true, changes = {}) {
    const query = new URLSearchParams();
    for (const [key, value] of this.keys) if ((own || !key.startsWith(OWN)) && !(key in changes)) query.append(key, value);
    for (const [key, value] of Object.entries(changes)) if (value !== "") query.append(key, value);
    // Readable: these stand for themselves in a fragment.
    return query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  }

  read(address) {
    this.keys = new Map(new URLSearchParams(address));
  }

  /** Changes keys; an empty value leaves the default. The first change after a rest is a new state in the history, later ones are part of it. */
  set(changes) {
    for (const [key, value] of Object.entries(changes)) {
      if (value === "" || value === null || value === undefined) this.keys.delete(key);
      else this.keys.set(key, String(value));
    }
    const address = `#${this.write()}`;
    if (this.moving || address === location.hash) history.replaceState(history.state, "", address);
    else history.pushState({ steps: this.steps + 1 }, "", address);
    this.moving = true;
  }

  /** The same address, written as it is read. */
  put() {
    history.replaceState(history.state, "", `#${this.write()}`);
  }

  /** How many states lie before this one. */
  get steps() {
    return history.state?.steps ?? 0;
  }

  settle() {
    this.moving = false;
  }
}
