// Stands in for require.js, and marks what bertviz does not: the number of each head, and removed heads.
const SHOWN = JSON.parse(document.getElementById("shown").textContent);
const requirejs = (names, run) => {
  run(jQuery, Object.assign(Object.create(d3), { schemeCategory10: SHOWN.colours }));
  const drawn = document.querySelector("#bertviz #vis");
  const mark = SHOWN.view === "head" ? markBoxes : markCells;
  const finish = () => {
    const svg = d3.select(drawn).select("svg");
    mark(svg);
    fit(svg.node());
  };
  new MutationObserver(finish).observe(drawn, { childList: true });
  finish();
};

// Shrink a drawing that is wider than its frame; bertviz gives it a fixed size.
function fit(svg) {
  const drawn = svg.getBBox();
  const [width, height] = [drawn.x + drawn.width + 4, Math.max(svg.clientHeight, drawn.y + drawn.height)];
  const room = document.documentElement.clientWidth - 24;
  if (width <= room) return;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", room);
  svg.setAttribute("height", (height * room) / width);
  svg.style.width = `${room}px`;
}

function isRemoved(layer, head) {
  return SHOWN.removed.some((gone) => gone[0] === layer && gone[1] === head);
}

// Number the coloured boxes of the heads above the tokens.
function markBoxes(svg) {
  const layer = Number(document.querySelector("#layer").value);
  const boxes = svg.selectAll(":scope > g:last-of-type > rect").nodes();
  const marks = svg.append("g").attr("class", "marks");
  boxes.forEach((box, place) => {
    const head = SHOWN.heads[place];
    if (isRemoved(layer, head)) strike(marks, box, 0.5);
    marks
      .append("text")
      .attr("class", isRemoved(layer, head) ? "number gone" : "number")
      .attr("x", Number(box.getAttribute("x")) + box.getAttribute("width") / 2)
      .attr("y", Number(box.getAttribute("y")) + box.getAttribute("height") / 2)
      .text(head);
  });
}

// Strike out the cells of removed heads.
function markCells(svg) {
  SHOWN.layers.forEach((layer, row) =>
    SHOWN.heads.forEach((head, column) => {
      if (isRemoved(layer, head)) {
        const cell = svg.select(`#attn_background_${row}_${column}`).node();
        strike(d3.select(cell.parentNode).append("g"), cell, 6);
      }
    }),
  );
}

function strike(place, box, gap) {
  const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(box.getAttribute(name)));
  const [right, bottom] = [x + width - gap, y + height - gap];
  place.append("path").attr("class", "gone").attr("d", `M${x + gap},${y + gap}H${right}V${bottom}H${x + gap}Z`);
  place.append("path").attr("class", "stroke").attr("d", `M${x + gap},${bottom}L${right},${y + gap}`);
}
