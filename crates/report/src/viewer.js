// The board on the page. It knows no rules: every turn says which point it fills and which points it empties.
"use strict";
(() => {
  const games = JSON.parse(document.getElementById("games").textContent);
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const CELL = 20, EDGE = 16;
  let game = null, shown = 0, touched = false;

  // The stones after a number of turns, in reading order: "B", "W" or ".".
  function stones(count) {
    const points = new Array(game.width * game.height).fill(".");
    game.turns.slice(0, count).forEach((turn, ply) => {
      if (turn.p !== undefined) points[turn.p] = ply % 2 ? "W" : "B";
      for (const point of turn.x || []) points[point] = ".";
    });
    return points;
  }

  function add(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    parent.appendChild(element);
    return element;
  }

  const at = (point) => [
    EDGE + CELL * (point % game.width) + CELL / 2,
    EDGE + CELL * Math.floor(point / game.width) + CELL / 2,
  ];

  function drawGrid(board) {
    const { width, height } = game;
    board.setAttribute("viewBox", `0 0 ${width * CELL + 2 * EDGE} ${height * CELL + 2 * EDGE}`);
    board.replaceChildren();
    // Small boards are drawn large, but the labels around them stay as large as the page's text.
    board.style.setProperty("--unit", (Math.max(width, height) * CELL + 2 * EDGE) / 520);
    const last = width * height - 1;
    for (let column = 0; column < width; column++) {
      const [x, top] = at(column), [, bottom] = at(last - (width - 1 - column));
      add(board, "line", { class: "grid", x1: x, y1: top, x2: x, y2: bottom });
      const letter = "ABCDEFGHJKLMNOPQRST"[column];
      add(board, "text", { class: "name", x, y: 8, dy: "0.35em" }, letter);
      add(board, "text", { class: "name", x, y: EDGE * 2 + height * CELL - 8, dy: "0.35em" }, letter);
    }
    for (let row = 0; row < height; row++) {
      const [left, y] = at(row * width), [right] = at(row * width + width - 1);
      add(board, "line", { class: "grid", x1: left, y1: y, x2: right, y2: y });
      for (const x of [8, EDGE * 2 + width * CELL - 8]) add(board, "text", { class: "name", x, y, dy: "0.35em" }, height - row);
    }
    return add(board, "g", {});
  }

  function drawStones(layer, points) {
    layer.replaceChildren();
    points.forEach((stone, point) => {
      const [cx, cy] = at(point);
      if (stone !== ".") add(layer, "circle", { class: stone === "B" ? "black" : "white", cx, cy, r: CELL * 0.47 });
      const owner = ($("owners").checked || shown === game.turns.length) && game.owners[point];
      if (owner && owner !== "." && owner !== stone)
        add(layer, "rect", { class: owner === "B" ? "black" : "white", x: cx - 4, y: cy - 4, width: 8, height: 8 });
    });
    const last = game.turns[shown - 1];
    if (last && last.p !== undefined && points[last.p] !== ".") {
      const [cx, cy] = at(last.p);
      add(layer, "circle", { class: "last", cx, cy, r: CELL * 0.2 });
    }
    for (const [point, percent] of (game.turns[shown] || {}).l || []) {
      if (point >= points.length) continue;
      const [cx, cy] = at(point);
      add(layer, "circle", { class: "liked", cx, cy, r: CELL * 0.44, "fill-opacity": 0.2 + percent / 160 });
      add(layer, "text", { class: "percent", x: cx, y: cy + 3 }, percent);
    }
  }

  // Values of the whole game for Black, with a mark at the turn shown.
  function drawValues(chart) {
    chart.replaceChildren();
    const count = Math.max(1, game.turns.length);
    const place = (ply, value) => `${(10 + (ply / count) * 380).toFixed(1)},${(50 - value * 40).toFixed(1)}`;
    add(chart, "line", { class: "grid", x1: 10, x2: 390, y1: 50, y2: 50 });
    add(chart, "text", { class: "name left", x: 12, y: 9 }, "Black wins");
    add(chart, "text", { class: "name left", x: 12, y: 98 }, "White wins");
    for (const [key, tone] of [["w", "network"], ["v", "search"]]) {
      const points = game.turns.map((turn, ply) => (turn[key] === undefined ? null : place(ply, turn[key])));
      add(chart, "polyline", { class: tone, points: points.filter(Boolean).join(" ") });
    }
    const x = 10 + (shown / count) * 380;
    add(chart, "line", { class: "now", x1: x, x2: x, y1: 8, y2: 92 });
  }

  const signed = (value) => (value > 0 ? "+" : "") + value;

  // The text next to the board about the last turn.
  function words() {
    if (shown === 0) return "Empty board. Black moves.";
    const turn = game.turns[shown - 1];
    const parts = [`Turn ${shown}: ${shown % 2 ? "Black" : "White"} ${turn.n}`];
    if (turn.o) parts.push("opening or random move");
    if (turn.x) parts.push(`removes ${turn.x.length} ${turn.x.length === 1 ? "stone" : "stones"}`);
    if (turn.s) parts.push(`${turn.s} ${turn.s === 1 ? "visit" : "visits"}`);
    return parts.join(", ") + ".";
  }

  // The evaluation of the search before that turn, and a likely pass, which has no place on the board.
  function figures() {
    const turn = game.turns[Math.max(0, shown - 1)];
    if (!turn || turn.v === undefined) return "No search before this turn.";
    const [value, margin, network] = [turn.v, turn.m, turn.w].map(signed);
    const pass = ((game.turns[shown] || {}).l || []).find(([point]) => point === game.width * game.height);
    const next = pass ? ` Next, the search gives a pass ${pass[1]}%.` : "";
    return `For Black: value ${value}, margin ${margin} points; network alone ${network}.${next}`;
  }

  let layer = null;
  function show(count) {
    shown = Math.max(0, Math.min(game.turns.length, count));
    drawStones(layer, stones(shown));
    drawValues($("values"));
    $("turn").textContent = words();
    $("figures").textContent = figures();
    $("slider").value = shown;
    $("first").disabled = $("previous").disabled = shown === 0;
    $("last").disabled = $("next").disabled = shown === game.turns.length;
  }

  function open(index) {
    game = games[index];
    layer = drawGrid($("board"));
    $("choice").value = index;
    $("slider").max = game.turns.length;
    $("players").textContent = `Black ${game.black || "?"}, White ${game.white || "?"}, komi ${game.komi}`;
    $("result").textContent = `Result: ${game.result}.`;
    $("sgf").href = `data:application/x-go-sgf;charset=utf-8,${encodeURIComponent(game.sgf)}`;
    $("owners").disabled = game.owners === "";
    $("sgf").download = `${game.title.split(":")[0].replace(/\W+/g, "-")}.sgf`;
    show(0);
  }

  function start() {
    const groups = {};
    games.forEach((each, index) => {
      if (!groups[each.group]) {
        groups[each.group] = document.createElement("optgroup");
        groups[each.group].label = each.group;
        $("choice").appendChild(groups[each.group]);
      }
      groups[each.group].appendChild(new Option(each.title, index));
    });
    const steps = { first: () => 0, previous: () => shown - 1, next: () => shown + 1, last: () => game.turns.length };
    for (const id in steps) $(id).addEventListener("click", () => { touched = true; show(steps[id]()); });
    $("slider").addEventListener("input", () => { touched = true; show(Number($("slider").value)); });
    $("owners").addEventListener("change", () => { touched = true; show(shown); });
    $("choice").addEventListener("change", () => { touched = true; open(Number($("choice").value)); });
    $("values").addEventListener("click", (event) => {
      const box = $("values").getBoundingClientRect();
      touched = true;
      show(Math.round((((event.clientX - box.left) / box.width) * 400 - 10) / 380 * game.turns.length));
    });
    const keys = { Home: "first", ArrowLeft: "previous", ArrowRight: "next", End: "last" };
    const inView = () => {
      const box = $("viewer").getBoundingClientRect();
      return box.top < window.innerHeight && box.bottom > 0;
    };
    document.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.target.closest && event.target.closest("select, input, .table")) return;
      // Home and End scroll the page, unless the user works in the viewer.
      const focused = $("viewer").contains(event.target);
      if (!focused && (event.key === "Home" || event.key === "End" || !inView())) return;
      event.preventDefault();
      $(keys[event.key]).click();
    });
    open(0);
  }

  // Steps through the first game and writes down what was on the board; a test reads it.
  function selfTest() {
    const press = (key, target = $("viewer")) =>
      target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const drawn = () => {
      const points = new Array(game.width * game.height).fill(".");
      for (const stone of $("board").querySelectorAll("circle.black, circle.white")) {
        const [column, row] = ["cx", "cy"].map((axis) => Math.round((stone.getAttribute(axis) - EDGE - CELL / 2) / CELL));
        points[row * game.width + column] = stone.classList.contains("black") ? "B" : "W";
      }
      return points.join("");
    };
    const boards = [drawn()];
    while (!$("next").disabled) { $("next").click(); boards.push(drawn()); }
    const at = [shown];
    press("ArrowLeft"); at.push(shown);
    press("Home"); at.push(shown);
    press("ArrowRight"); at.push(shown);
    press("End", document.body); at.push(shown);
    press("End"); at.push(shown);
    $("previous").click(); at.push(shown);
    $("first").click(); at.push(shown);
    $("last").click(); at.push(shown);
    const back = drawn() === boards[boards.length - 1];
    $("choice").value = games.length - 1;
    $("choice").dispatchEvent(new Event("change"));
    $("last").click();
    const owned = [0, game.turns.length].map((count) => {
      show(count);
      return [false, true].map((checked) => {
        if ($("owners").checked !== checked) $("owners").click();
        return $("board").querySelectorAll("rect").length;
      });
    });
    const report = { boards, at, back, owned, second: drawn(), words: words(), figures: figures() };
    const pre = document.createElement("pre");
    pre.id = "selftest";
    pre.textContent = JSON.stringify(report);
    document.body.appendChild(pre);
  }

  if (games.length > 0) {
    start();
    if (location.hash === "#selftest") selfTest();
  }
  // The page of a run in progress reloads itself, unless the user has touched a game.
  const refresh = Number(document.body.dataset.refresh);
  if (refresh > 0) setInterval(() => { if (!touched) location.reload(); }, refresh * 1000);
})();
