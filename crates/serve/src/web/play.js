// Plays against a model. The server knows the rules: it says which moves are legal and when the game is over.
import { Board, fillFigures, pointName } from "./board.js";
import { ask, clear, figuresOf, fillMoves, lineOf, marksOf } from "./analysis.js";

const $ = (id) => document.getElementById(id);
const run = $("play").dataset.run;
const board = new Board($("board"));
const NEWS_MS = 10000;
let name = null; // of the open game
let state = null;
let analysis = null;
let cursor = null;
let preview = null;
let busy = false;

function problem(text) {
  $("problem").hidden = !text;
  $("problem").textContent = text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "";
}

const asked = () => ({
  moves: $("show-moves").checked,
  policy: $("show-policy").checked,
  ownership: $("show-ownership").checked,
});

function draw() {
  if (!state) return;
  const marks = { last: state.last, cursor };
  if (state.your_turn) marks.banned = state.banned;
  if (analysis) Object.assign(marks, marksOf(analysis, asked()));
  if (preview && analysis) {
    marks.line = lineOf(preview, state);
    marks.lineColor = analysis.color;
  }
  if (state.result && state.result.owners)
    marks.owners = [...state.result.owners].map((owner) => ({ B: 1, W: -1, ".": 0 })[owner]);
  board.draw(state.stones, marks);
}

function turnWords() {
  const { result } = state;
  if (result) {
    const count = result.black === null ? "" :
      ` Area: Black ${result.black}, White ${result.white} and komi ${state.komi}.`;
    return `The game is over: ${result.words} (${result.text}).${count}`;
  }
  const last = state.moves[state.moves.length - 1];
  const mover = state.to_move === "black" ? "White" : "Black";
  const before = last ? `${mover} played ${last}. ` : "";
  const now = state.your_turn ? `Your turn (${state.color}).` : `${state.model.split("-")[0]} is thinking…`;
  return before + now;
}

function showTerms() {
  const terms = $("terms");
  const opponent = state.color === "black" ? "White" : "Black";
  terms.textContent = `${opponent} is ${state.model} with ${state.visits} visits. ${state.width}x${state.height}, ` +
    `komi ${state.komi}, ${state.rules}. `;
  const link = document.createElement("a");
  link.href = `/api/play/${name}/record.sgf`;
  link.textContent = "Save as SGF";
  link.download = "";
  terms.appendChild(link);
}

function show(next) {
  if (!state || next.revision !== state.revision) {
    analysis = null;
    preview = null;
    clear($("figures"), $("moves"));
    $("candidates").hidden = true;
  }
  state = next;
  board.resize(state.width, state.height);
  $("board").classList.toggle("playable", state.your_turn);
  $("turn").textContent = turnWords();
  $("pass").disabled = !state.your_turn;
  $("undo").disabled = state.moves.length === 0;
  $("hint").disabled = state.result !== null;
  showTerms();
  draw();
}

// Runs one request after the other; the buttons do nothing meanwhile.
async function doing(work) {
  if (busy) return;
  busy = true;
  problem("");
  try {
    await work();
  } catch (error) {
    problem(error.message);
  } finally {
    busy = false;
  }
  if (state && !state.your_turn && !state.result && $("problem").hidden) await letModelMove();
  else if (wantsAnalysis() && !analysis) await analyze();
}

const wantsAnalysis = () => state && state.your_turn && Object.values(asked()).some(Boolean) && $("problem").hidden;

const letModelMove = () => doing(async () => show(await ask(`/api/play/${name}/reply`, { revision: state.revision })));

const analyze = () => doing(async () => {
  const { revision } = state;
  const found = await ask(`/api/play/${name}/analysis`, { revision });
  if (state.revision !== revision) return;
  analysis = found;
  fillFigures($("figures"), figuresOf(analysis));
  fillMoves($("moves"), analysis, (move) => { preview = move; draw(); });
  $("candidates").hidden = false;
  draw();
});

function play(text) {
  if (!state || !state.your_turn || busy) return;
  doing(async () => show(await ask(`/api/play/${name}/move`, { revision: state.revision, move: text })));
}

const undo = () => doing(async () => show(await ask(`/api/play/${name}/undo`, { revision: state.revision })));

function startGame() {
  doing(async () => {
    const answer = await ask(`/api/runs/${run}/play`, {
      size: $("size").value,
      komi: $("komi").value.trim(),
      color: $("color").value,
      visits: Number($("visits").value),
    });
    name = answer.game;
    cursor = null;
    state = null;
    history.replaceState(null, "", `#game=${name}`);
    show(answer.state);
    $("board").focus({ preventScroll: true });
  });
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || !state) return;
  const moved = board.moved(cursor, event.key);
  if (moved !== null) cursor = moved;
  else if (event.key === "Enter" || event.key === " ") {
    if (cursor !== null) play(pointName(cursor, state.width, state.height));
  } else if (event.key === "p" || event.key === "P") play("pass");
  else if (event.key === "u" || event.key === "U") undo();
  else return;
  event.preventDefault();
  draw();
}

// Says when a newer champion would play the next game.
async function lookForNews() {
  if (document.hidden) return;
  try {
    const { model } = await ask(`/api/runs/${run}/champion`);
    const shown = $("champion");
    if (!shown && model) location.reload();
    else if (shown && model && shown.textContent !== model) {
      shown.textContent = model;
      $("news").textContent = "It is new.";
    }
    if (state && model && state.model !== model)
      $("news").textContent = `This game is against ${state.model}; the next one is against the new champion.`;
  } catch {
    // The next look may succeed.
  }
}

function listen() {
  $("board").addEventListener("click", (event) => {
    const point = board.pointOf(event);
    if (point !== null && state) play(pointName(point, state.width, state.height));
  });
  $("board").addEventListener("keydown", onKey);
  $("board").addEventListener("blur", () => { cursor = null; draw(); });
  $("pass").addEventListener("click", () => play("pass"));
  $("undo").addEventListener("click", undo);
  $("hint").addEventListener("click", () => {
    // After a failure, the model may be due.
    if (!state.your_turn) return void letModelMove();
    if (!Object.values(asked()).some(Boolean)) $("show-moves").checked = true;
    if (analysis) draw();
    else analyze();
  });
  for (const id of ["show-moves", "show-policy", "show-ownership"])
    $(id).addEventListener("change", () => {
      if (!analysis && wantsAnalysis()) analyze();
      draw();
    });
  const form = $("start");
  if (form) {
    form.addEventListener("submit", (event) => { event.preventDefault(); startGame(); });
    $("size").addEventListener("change", () => { $("komi").value = $("size").selectedOptions[0].dataset.komi; });
  }
  setInterval(lookForNews, NEWS_MS);
}

// An empty board until a game starts; a game that was open before the page was loaded again goes on.
async function begin() {
  const [width, height] = ($("play").dataset.size || "9x9").split("x").map(Number);
  board.resize(width, height);
  const open = /^#game=([0-9a-f]+)$/.exec(location.hash);
  if (open) await doing(async () => {
    name = open[1];
    show(await ask(`/api/play/${name}`));
  });
}

listen();
begin();
