// The state of the page, which its address holds, and the states before it: Undo, Back and Forward go through those that were settled.

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

  put() {
    history.replaceState(history.state, "", `#${this.write()}`);
  }

  get steps() {
    return history.state?.steps ?? 0;
  }

  settle() {
    this.moving = false;
  }
}
