// What the champion thinks of the positions of a stored game: it searches the position shown while something of it is
// asked for, and its marks take the place of those from the record.
import { fillFigures } from "./board.js";
import { ask, figuresOf, marksOf } from "./analysis.js";

const $ = (id) => document.getElementById(id);
const BOXES = { moves: "view-moves", policy: "view-policy", ownership: "view-ownership" };
// How long a position is shown before it is searched, so that clicking through a game does not search every turn.
const PAUSE_MS = 150;

export class View {
  // `changed` is called when the marks have changed by themselves.
  constructor(address, changed) {
    this.address = address;
    this.changed = changed;
    this.turns = 0;
    this.found = new Map(); // by turns and visits
    this.asking = null;
    for (const id of [...Object.values(BOXES), "view-visits"])
      $(id).addEventListener("change", () => this.refresh());
  }

  asked() {
    return Object.fromEntries(Object.entries(BOXES).map(([name, id]) => [name, $(id).checked]));
  }

  get key() {
    return `${this.turns} ${$("view-visits").value}`;
  }

  marks() {
    const [analysis, asked] = [this.found.get(this.key), this.asked()];
    if (!analysis) return {};
    // Candidate moves and the policy of the record would cover each other.
    return { ...(asked.moves ? { policy: null } : {}), ...marksOf(analysis, asked) };
  }

  // Shows the view of the position after so many turns.
  goTo(turns) {
    this.turns = turns;
    if (this.asking) this.asking.abort();
    this.asking = null;
    const wanted = Object.values(this.asked()).some(Boolean);
    const analysis = this.found.get(this.key);
    fillFigures($("view-figures"), wanted && analysis ? figuresOf(analysis) : []);
    this.say(wanted && !analysis ? "Searching…" : "");
    if (wanted && !analysis) this.search();
  }

  refresh() {
    this.goTo(this.turns);
    this.changed();
  }

  async search() {
    const { key, turns } = this;
    const asking = new AbortController();
    this.asking = asking;
    try {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (asking.signal.aborted) return;
      const request = { turns, visits: Number($("view-visits").value) };
      this.found.set(key, await ask(this.address, request, asking.signal));
    } catch (error) {
      if (!asking.signal.aborted) this.say(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`);
      return;
    }
    if (!asking.signal.aborted) this.refresh();
  }

  say(text) {
    $("view-state").hidden = !text;
    $("view-state").textContent = text;
  }
}
