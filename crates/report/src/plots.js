// A tap or a click on a plot says the values of the nearest point, as hovering over it does with a mouse.
"use strict";
(() => {
  const said = document.createElement("div");
  said.className = "said";
  said.hidden = true;
  said.setAttribute("role", "status");
  document.body.appendChild(said);
  let chosen = null;

  function middle(mark) {
    const box = mark.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  }

  function nearest(marks, left, top) {
    const away = (mark) => Math.hypot(middle(mark)[0] - left, middle(mark)[1] - top);
    return marks.reduce((best, mark) => (away(mark) < away(best) ? mark : best));
  }

  document.addEventListener("click", (event) => {
    if (chosen) chosen.classList.remove("chosen");
    const plot = event.target.closest("svg.plot");
    const marks = plot ? [...plot.querySelectorAll(".hover")] : [];
    chosen = marks.length > 0 ? nearest(marks, event.clientX, event.clientY) : null;
    said.hidden = chosen === null;
    if (said.hidden) return;
    chosen.classList.add("chosen");
    said.textContent = chosen.textContent;
    const [left, top] = middle(chosen);
    const most = document.documentElement.clientWidth - said.offsetWidth - 8;
    said.style.left = `${window.scrollX + Math.max(8, Math.min(left - said.offsetWidth / 2, most))}px`;
    said.style.top = `${window.scrollY + top + 14}px`;
  });
})();
