// Clicks through a stored game. Every turn says which point it fills and which points it empties.
import { Board, fillFigures, percent, pointName, signed } from "./board.js";
import { View } from "./view.js";

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const board = new Board($("board"));
let game = null;
let shown = 0;
const view = $("view") ? new View($("viewer").dataset.analysis, () => draw()) : null;

const sideOf = (turn) => (turn.color === "black" ? 1 : -1);
const colorName = (color) => color[0].toUpperCase() + color.slice(1);

// The stones after so many turns, and the number of the turn that put each.
function stonesAfter(count) {
  const area = game.width * game.height;
  const stones = new Array(area).fill(".");
  const numbers = new Array(area).fill(undefined);
  for (const point of game.setup.black) stones[point] = "B";
  for (const point of game.setup.white) stones[point] = "W";
  game.turns.slice(0, count).forEach((turn, index) => {
    if (turn.move < area) {
      stones[turn.move] = turn.color === "black" ? "B" : "W";
      numbers[turn.move] = index + 1;
    }
    for (const point of turn.removed) {
      stones[point] = ".";
      numbers[point] = undefined;
    }
  });
  return { stones, numbers };
}

// The policy target of the turn to come, for every point and, last, the pass.
function policyAt(turn) {
  if (!turn || turn.policy.length === 0) return null;
  const policy = new Array(board.area + 1).fill(0);
  for (const [move, share] of turn.policy) policy[move] = share;
  return policy;
}

function words() {
  if (shown === 0) return `The start; ${colorName(game.setup.to_move)} moves first.`;
  const turn = game.turns[shown - 1];
  const parts = [`Turn ${shown} of ${game.turns.length}: ${colorName(turn.color)} ${turn.name}`];
  if (turn.opening) parts.push("opening");
  if (turn.explored) parts.push("explored");
  if (turn.removed.length > 0) parts.push(`removes ${turn.removed.length}`);
  const end = shown === game.turns.length ? ` The end: ${game.result_in_words}.` : "";
  return `${parts.join(", ")}.${end}`;
}

function figures() {
  const turn = game.turns[shown - 1];
  const pairs = [];
  if (turn && turn.visits > 0) {
    const side = sideOf(turn);
    pairs.push(["Value for Black", `${signed(side * turn.value, 3)} (network alone ${signed(side * turn.network_value, 3)})`]);
    pairs.push(["Margin for Black", `${signed(side * turn.margin, 1)} points`]);
    pairs.push(["Search", `${turn.visits} visits${turn.full_search ? ", full" : ""}`]);
    pairs.push(["Training weight", turn.weight.toFixed(2)]);
  } else if (turn) pairs.push(["Search", "none before this turn"]);
  const next = game.turns[shown];
  if (next && next.policy.length > 0) {
    const best = [...next.policy].sort((a, b) => b[1] - a[1]).slice(0, 4);
    const text = best.map(([move, share]) => `${pointName(move, game.width, game.height)} ${percent(share)}`).join(", ");
    pairs.push([`Policy target for ${colorName(next.color)}`, text]);
  } else if (next) pairs.push(["Policy target", "none for the next turn"]);
  return pairs;
}

function add(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  parent.appendChild(element);
}

// Values and margins over the game, for Black, with a mark at the turn shown.
function drawValues() {
  const chart = $("values");
  chart.replaceChildren();
  const count = Math.max(1, game.turns.length);
  const x = (index) => (10 + (index / count) * 380).toFixed(1);
  const y = (value) => (60 - Math.max(-1, Math.min(1, value)) * 48).toFixed(1);
  const most = Math.max(1, ...game.turns.filter((turn) => turn.visits > 0).map((turn) => Math.abs(turn.margin)));
  add(chart, "line", { class: "grid", x1: 10, x2: 390, y1: 60, y2: 60 });
  add(chart, "text", { class: "name left", x: 12, y: 12 }, `Black wins, +${most.toFixed(0)} points`);
  add(chart, "text", { class: "name left", x: 12, y: 116 }, `White wins, −${most.toFixed(0)} points`);
  const curves = [
    ["network", (turn) => turn.network_value],
    ["margin", (turn) => turn.margin / most],
    ["search", (turn) => turn.value],
  ];
  for (const [name, figure] of curves) {
    const searched = game.turns.map((turn, index) => [turn, index]).filter(([turn]) => turn.visits > 0);
    const points = searched.map(([turn, index]) => `${x(index + 1)},${y(sideOf(turn) * figure(turn))}`);
    add(chart, "polyline", { class: name, points: points.join(" ") });
  }
  add(chart, "line", { class: "now", x1: x(shown), x2: x(shown), y1: 8, y2: 112 });
}

function draw() {
  if (!game) return;
  const { stones, numbers } = stonesAfter(shown);
  const last = game.turns[shown - 1];
  board.draw(stones, {
    last: last && last.move < board.area ? last.move : null,
    numbers: $("show-numbers").checked ? numbers : undefined,
    policy: $("show-policy").checked ? policyAt(game.turns[shown]) : null,
    owners: $("show-ownership").checked && game.ownership.length > 0 ? game.ownership : null,
    ...(view ? view.marks() : {}),
  });
}

function show(count) {
  shown = Math.max(0, Math.min(game.turns.length, count));
  if (view) view.goTo(shown);
  draw();
  drawValues();
  $("turn").textContent = words();
  fillFigures($("figures"), figures());
  $("slider").value = shown;
  for (const id of ["first", "back", "previous"]) $(id).disabled = shown === 0;
  for (const id of ["next", "forward", "last"]) $(id).disabled = shown === game.turns.length;
}

function start() {
  board.resize(game.width, game.height);
  $("slider").max = game.turns.length;
  $("show-ownership").disabled = game.ownership.length === 0;
  const steps = {
    first: () => 0,
    back: () => shown - 10,
    previous: () => shown - 1,
    next: () => shown + 1,
    forward: () => shown + 10,
    last: () => game.turns.length,
  };
  for (const id in steps) $(id).addEventListener("click", () => show(steps[id]()));
  for (const id of ["show-policy", "show-ownership", "show-numbers"]) $(id).addEventListener("change", draw);
  $("slider").addEventListener("input", () => show(Number($("slider").value)));
  $("values").addEventListener("click", (event) => {
    const box = $("values").getBoundingClientRect();
    show(Math.round((((event.clientX - box.left) / box.width) * 400 - 10) / 380 * game.turns.length));
  });
  const keys = {
    Home: "first", PageUp: "back", ArrowLeft: "previous", ArrowRight: "next", PageDown: "forward", End: "last",
  };
  document.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input[type=range], input[type=number]")) return;
    event.preventDefault();
    show(steps[keys[event.key]]());
  });
  // A link to a turn: #turn=12.
  const wanted = /^#turn=(\d+)$/.exec(location.hash);
  show(wanted ? Number(wanted[1]) : 0);
}

try {
  const response = await fetch($("viewer").dataset.source);
  const answer = await response.json();
  if (!response.ok) throw new Error("the server could not send it");
  game = answer;
  start();
} catch (error) {
  $("turn").textContent = `The game could not be loaded: ${error.message}.`;
}
