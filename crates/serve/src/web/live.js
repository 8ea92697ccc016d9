// Keeps a page up to date: the server says when a run has news, and the parts that differ are replaced.

const live = document.getElementById("live");
const state = document.getElementById("live-state");
const base = live.dataset.base;
let version = Number(live.dataset.version);
let source = null;
let busy = false;
let wanted = version;

function say(text, stale) {
  state.textContent = text;
  state.classList.toggle("stale", stale);
}

function clock() {
  return new Date().toLocaleTimeString();
}

// Replaces the parts that changed. What has not changed keeps its place and its focus.
function replaceParts(html) {
  const next = new DOMParser().parseFromString(html, "text/html").getElementById("live");
  const parts = new Map([...live.children].map((part) => [part.dataset.part, part]));
  for (const part of [...next.children]) {
    const old = parts.get(part.dataset.part);
    if (!old) live.appendChild(document.importNode(part, true));
    else if (old.innerHTML !== part.innerHTML) {
      // A wide table stays where it was scrolled to.
      const scrolled = [...old.querySelectorAll(".table")].map((table) => table.scrollLeft);
      old.replaceChildren(...document.importNode(part, true).childNodes);
      old.querySelectorAll(".table").forEach((table, index) => (table.scrollLeft = scrolled[index] || 0));
    }
  }
  version = Number(next.dataset.version);
  live.dataset.version = version;
}

// Fetches the newest parts; news that come meanwhile are fetched after that.
async function update() {
  if (busy) return;
  busy = true;
  try {
    while (wanted > version) {
      const response = await fetch(`${base}/sections`);
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      replaceParts(await response.text());
      say(`Live; last news at ${clock()}.`, false);
    }
  } catch (error) {
    say(`The news could not be loaded (${error.message}); this page may be out of date.`, true);
  } finally {
    busy = false;
  }
}

function listen() {
  if (source) return;
  source = new EventSource(`${base}/updates`);
  source.addEventListener("open", () => say("Live; this page updates itself when there is news.", false));
  source.addEventListener("update", (event) => {
    // A server that was started again counts from 1.
    wanted = Number(event.data);
    if (wanted < version) version = 0;
    update();
  });
  source.addEventListener("trouble", (event) => say(`Out of date: ${event.data}`, true));
  source.addEventListener("error", () => {
    const closed = source.readyState === EventSource.CLOSED;
    if (closed) say("The server sends no news to this page; load it again to see them.", true);
    else say(`The server does not answer since ${clock()}; trying again.`, true);
  });
}

function pause() {
  if (source) source.close();
  source = null;
}

// A page that nobody sees asks for nothing.
document.addEventListener("visibilitychange", () => (document.hidden ? pause() : listen()));
window.addEventListener("pagehide", pause);
if (!document.hidden) listen();
