// Asks what a model thinks of a position, and shows it: figures, a table of moves, and marks for the board.
import { fillFigures, percent, signed } from "./board.js";

const MOST_MOVES = 8;

// The server's answer to a request; its sentence as an error if it has none. A request may be given up by a signal.
export async function ask(path, body, signal) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, { ...options, signal });
  } catch {
    throw new Error("the server does not answer");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

// The points of a move's continuation on this board.
export function lineOf(move, { width, height }) {
  const letters = "ABCDEFGHJKLMNOPQRST";
  const index = (text) => {
    if (text === "pass") return width * height;
    return (height - Number(text.slice(1))) * width + letters.indexOf(text[0]);
  };
  return move.pv.slice(0, 8).map(index);
}

// Figures for Black, whoever is to move.
export function figuresOf(analysis) {
  const black = analysis.color === "black";
  const winrate = black ? analysis.winrate : 1 - analysis.winrate;
  const score = black ? analysis.score : -analysis.score;
  const best = analysis.moves[0];
  return [
    ["Black wins", percent(winrate)],
    ["Score for Black", `${signed(score, 1)} points`],
    ["Best move", best ? `${best.name} (${best.pv.slice(0, 6).join(" ")})` : "none"],
    ["Visits", String(analysis.visits)],
  ];
}

// Marks for the board, as far as they are asked for.
export function marksOf(analysis, asked) {
  const side = analysis.color === "black" ? 1 : -1;
  const marks = {};
  if (asked.ownership && analysis.ownership) marks.owners = analysis.ownership.map((owner) => side * owner);
  if (asked.policy && !asked.moves) marks.policy = analysis.policy;
  if (asked.moves)
    marks.candidates = analysis.moves
      .filter((move) => move.visits > 0)
      .slice(0, MOST_MOVES)
      .map((move, index) => ({
        point: move.move,
        label: (move.winrate * 100).toFixed(0),
        small: move.visits,
        best: index === 0,
      }));
  return marks;
}

// Fills the table of moves; `preview` is called with a move, or with null, when a row is entered or left.
export function fillMoves(body, analysis, preview) {
  body.replaceChildren();
  for (const move of analysis.moves.slice(0, MOST_MOVES)) {
    const row = document.createElement("tr");
    const cells = [
      [move.name, "left"],
      [String(move.visits), ""],
      [percent(move.winrate), ""],
      [signed(move.score, 1), ""],
      [percent(move.prior), ""],
      [move.pv.slice(0, 8).join(" "), "left"],
    ];
    for (const [text, name] of cells) {
      const cell = document.createElement("td");
      cell.textContent = text;
      if (name) cell.className = name;
      row.appendChild(cell);
    }
    row.tabIndex = 0;
    const on = () => { row.classList.add("shown"); preview(move); };
    const off = () => { row.classList.remove("shown"); preview(null); };
    row.addEventListener("mouseenter", on);
    row.addEventListener("mouseleave", off);
    row.addEventListener("focus", on);
    row.addEventListener("blur", off);
    body.appendChild(row);
  }
}

export function clear(list, body) {
  fillFigures(list, []);
  body.replaceChildren();
}
