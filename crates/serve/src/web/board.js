// Draws a board into an SVG element. It knows no rules: stones and marks come from outside.

const SVG = "http://www.w3.org/2000/svg";
const CELL = 20;
const EDGE = 16;
const LETTERS = "ABCDEFGHJKLMNOPQRST";

function add(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  parent.appendChild(element);
  return element;
}

// The star points of a line of so many points, for squares and the usual sizes only.
function stars(length) {
  if (length < 7) return length % 2 ? [(length - 1) / 2] : [];
  const edge = length < 13 ? 2 : 3;
  const ends = [edge, length - 1 - edge];
  return length % 2 ? [ends[0], (length - 1) / 2, ends[1]] : ends;
}

export function pointName(point, width, height) {
  if (point >= width * height) return "pass";
  return LETTERS[point % width] + (height - Math.floor(point / width));
}

export class Board {
  constructor(svg) {
    this.svg = svg;
    this.width = 0;
    this.height = 0;
    this.layer = null;
  }

  get area() {
    return this.width * this.height;
  }

  at(point) {
    return [
      EDGE + CELL * (point % this.width) + CELL / 2,
      EDGE + CELL * Math.floor(point / this.width) + CELL / 2,
    ];
  }

  // Draws an empty grid with coordinates.
  resize(width, height) {
    if (this.width === width && this.height === height) return;
    this.width = width;
    this.height = height;
    const svg = this.svg;
    svg.setAttribute("viewBox", `0 0 ${width * CELL + 2 * EDGE} ${height * CELL + 2 * EDGE}`);
    svg.replaceChildren();
    svg.style.setProperty("--unit", (Math.max(width, height) * CELL + 2 * EDGE) / 560);
    const last = this.area - 1;
    for (let column = 0; column < width; column++) {
      const [x, top] = this.at(column), [, bottom] = this.at(last - (width - 1 - column));
      add(svg, "line", { class: "grid", x1: x, y1: top, x2: x, y2: bottom });
      for (const y of [8, EDGE * 2 + height * CELL - 8])
        add(svg, "text", { class: "name", x, y, dy: "0.35em" }, LETTERS[column]);
    }
    for (let row = 0; row < height; row++) {
      const [left, y] = this.at(row * width), [right] = this.at(row * width + width - 1);
      add(svg, "line", { class: "grid", x1: left, y1: y, x2: right, y2: y });
      for (const x of [8, EDGE * 2 + width * CELL - 8])
        add(svg, "text", { class: "name", x, y, dy: "0.35em" }, height - row);
    }
    if (width === height)
      for (const row of stars(height)) for (const column of stars(width)) {
        const [cx, cy] = this.at(row * width + column);
        add(svg, "circle", { class: "star", cx, cy, r: 1.6 });
      }
    this.layer = add(svg, "g", {});
  }

  // Draws stones ("B", "W", "." for every point) and marks:
  //   last       the point of the last move
  //   numbers    for points with stones, the numbers of their turns
  //   owners     for every point, from -1 (White) to 1 (Black)
  //   policy     for every point, a probability
  //   candidates [{point, label, small, best}]
  //   banned     points that may not be played
  //   cursor     the point of the keyboard's cursor
  //   line       points of a continuation, from the side `lineColor`
  draw(stones, marks) {
    const layer = this.layer;
    layer.replaceChildren();
    for (let point = 0; point < this.area; point++) {
      if (stones[point] === ".") continue;
      const [cx, cy] = this.at(point);
      add(layer, "circle", { class: stones[point] === "B" ? "black" : "white", cx, cy, r: CELL * 0.47 });
      const number = (marks.numbers || [])[point];
      if (number !== undefined)
        add(layer, "text", { class: `number on-${stones[point] === "B" ? "black" : "white"}`, x: cx, y: cy + 3 }, number);
    }
    for (const point of marks.banned || []) {
      const [x, y] = this.at(point);
      add(layer, "path", { class: "banned", d: `M${x - 3} ${y - 3}l6 6m0 -6l-6 6` });
    }
    if (marks.owners) this.drawOwners(stones, marks.owners);
    if (marks.policy) this.drawPolicy(stones, marks.policy);
    if (!marks.line) for (const candidate of marks.candidates || []) this.drawCandidate(candidate);
    if (marks.line) this.drawLine(marks.line, marks.lineColor);
    if (marks.last !== undefined && marks.last !== null && stones[marks.last] !== "." && !marks.numbers) {
      const [cx, cy] = this.at(marks.last);
      add(layer, "circle", { class: "last", cx, cy, r: CELL * 0.2 });
    }
    if (marks.cursor !== undefined && marks.cursor !== null) {
      const [x, y] = this.at(marks.cursor);
      const half = CELL * 0.46;
      add(layer, "rect", { class: "cursor", x: x - half, y: y - half, width: 2 * half, height: 2 * half });
    }
  }

  drawOwners(stones, owners) {
    owners.forEach((owner, point) => {
      const half = 4.2 * Math.sqrt(Math.min(1, Math.abs(owner)));
      if (half < 1) return;
      const [x, y] = this.at(point);
      const color = owner > 0 ? "black" : "white";
      add(this.layer, "rect", { class: `owner ${color}`, x: x - half, y: y - half, width: 2 * half, height: 2 * half });
    });
  }

  drawPolicy(stones, policy) {
    policy.forEach((share, point) => {
      if (point >= this.area || share < 0.005 || stones[point] !== ".") return;
      const [cx, cy] = this.at(point);
      add(this.layer, "circle", { class: "policy", cx, cy, r: CELL * 0.44, "fill-opacity": 0.6 + share * 0.4 });
      add(this.layer, "text", { class: "percent", x: cx, y: cy + 2.4 }, Math.round(share * 100));
    });
  }

  drawCandidate({ point, label, small, best }) {
    if (point >= this.area) return;
    const [cx, cy] = this.at(point);
    add(this.layer, "circle", { class: `candidate${best ? " best" : ""}`, cx, cy, r: CELL * 0.46 });
    add(this.layer, "text", { class: "percent", x: cx, y: cy + 0.6 }, label);
    add(this.layer, "text", { class: "percent small", x: cx, y: cy + 6 }, small);
  }

  drawLine(line, color) {
    line.forEach((point, index) => {
      if (point >= this.area) return;
      const [cx, cy] = this.at(point);
      const black = (color === "black") === (index % 2 === 0);
      add(this.layer, "circle", { class: `${black ? "black" : "white"} ghost`, cx, cy, r: CELL * 0.45 });
      add(this.layer, "text", { class: `number on-${black ? "black" : "white"}`, x: cx, y: cy + 3 }, index + 1);
    });
  }

  // The point that an event is on; null beside the grid.
  pointOf(event) {
    const matrix = this.svg.getScreenCTM();
    if (!matrix || this.area === 0) return null;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const [column, row] = [x, y].map((value) => Math.floor((value - EDGE) / CELL));
    const inside = column >= 0 && column < this.width && row >= 0 && row < this.height;
    return inside ? row * this.width + column : null;
  }

  // Where the cursor goes from a point when a key is pressed; null for other keys.
  moved(point, key) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!steps[key]) return null;
    if (point === null) return Math.floor(this.height / 2) * this.width + Math.floor(this.width / 2);
    const clamp = (value, length) => Math.max(0, Math.min(length - 1, value));
    const column = clamp((point % this.width) + steps[key][0], this.width);
    const row = clamp(Math.floor(point / this.width) + steps[key][1], this.height);
    return row * this.width + column;
  }
}

// Fills a description list with pairs of texts.
export function fillFigures(list, pairs) {
  list.replaceChildren();
  for (const [term, text] of pairs) {
    const dt = document.createElement("dt");
    dt.textContent = term;
    const dd = document.createElement("dd");
    dd.textContent = text;
    list.append(dt, dd);
  }
}

export const percent = (share) => `${(share * 100).toFixed(1)}%`;
export const signed = (value, digits) => (value > 0 ? "+" : "") + value.toFixed(digits);
