// Draws the banks of heads and reports which heads the user chose: one when selecting, any number when editing a mask.
// The browser owns what is chosen as long as the revision stays; a new revision brings a choice made in Python.

const drawn = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  if (!drawn.has(parentElement)) drawn.set(parentElement, new Banks(parentElement));
  drawn.get(parentElement).update(data, (choice) => setStateValue("choice", choice));
}

class Banks {
  constructor(parent) {
    this.root = parent.appendChild(made("div"));
    this.chosen = new Set();
    this.drag = null;
    this.skipClick = false;
    this.root.addEventListener("click", (event) => this.onClick(event));
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.root.addEventListener("focusin", (event) => this.rove(this.cellOf(event)));
    this.root.addEventListener("pointerdown", (event) => this.onDown(event));
  }

  update(data, report) {
    const shape = JSON.stringify(data.banks);
    const isNew = shape !== this.shape;
    this.data = data;
    this.report = report;
    if (isNew) this.build(shape);
    if (isNew || data.revision !== this.revision) {
      this.revision = data.revision;
      this.chosen = new Set(data.chosen);
      this.told = new Set(data.chosen);
      this.steps = [];
      this.drag = null;
    }
    this.root.className = data.editing ? `${data.classes} hl-editing` : data.classes;
    for (const [name, value] of Object.entries(data.variables)) this.root.style.setProperty(`--hl-${name}`, value);
    this.paint();
    if (isNew) this.rove(this.cells.find((cell) => this.chosen.has(cell.address)) ?? this.cells[0]);
  }

  build(shape) {
    this.shape = shape;
    this.cells = [];
    this.banks = [];
    this.roving = null;
    this.cellByElement = new Map();
    this.root.replaceChildren(...this.data.banks.map((bank, number) => this.bank(bank, number)));
  }

  bank(bank, number) {
    const box = made("div", "hl-bank");
    box.style.setProperty("--hl-columns", bank.columns);
    if (bank.title) {
      const title = box.appendChild(made("div", "hl-bank-title"));
      title.append(made("b", "", bank.title), made("span", "", bank.caption));
    }
    const grid = box.appendChild(made("div", bank.classes));
    grid.setAttribute("role", "grid");
    grid.setAttribute("aria-label", bank.label);
    if (bank.title) grid.append(header(bank.columns));
    this.banks.push(bank.layers.map((groups, layer) => this.row(grid, number, layer)));
    return box;
  }

  row(grid, number, layer) {
    const bank = this.data.banks[number];
    const row = grid.appendChild(made("div", "hl-row"));
    row.setAttribute("role", "row");
    if (bank.title) {
      const label = row.appendChild(made("span", "hl-label", String(layer)));
      label.setAttribute("role", "rowheader");
      label.setAttribute("aria-label", `layer ${layer}`);
    }
    return bank.layers[layer].map((group, head) => {
      const element = row.appendChild(made("span"));
      const address = `${bank.name}.${layer}.${head}`;
      const cell = { element, group, address, at: this.cells.length, bank: number, layer, head };
      element.setAttribute("role", "gridcell");
      element.tabIndex = -1;
      this.cellByElement.set(element, cell);
      this.cells.push(cell);
      return cell;
    });
  }

  paint() {
    for (const cell of this.cells) this.paintCell(cell, this.data.cells[cell.at]);
  }

  paintCell({ element, group, address }, look) {
    const { classes = "", fill = "", ink = "", letter = "", note = "", gone = false } = look;
    const chosen = this.chosen.has(address);
    const off = chosen && this.data.editing;
    const state = off ? "hl-off" : chosen ? "hl-chosen" : "";
    const label = joined(", ", address, note, off || gone ? "removed" : "");
    element.className = joined(" ", "hl-cell", group, off ? "" : classes, state);
    element.style.background = off ? "" : fill;
    element.style.color = off ? "" : ink;
    element.textContent = off ? "" : letter;
    element.title = label;
    element.setAttribute("aria-label", label);
    element.setAttribute("aria-selected", String(chosen));
    element.setAttribute("aria-disabled", String(gone));
  }

  isGone(cell) {
    return this.data.cells[cell.at].gone;
  }

  act(cell) {
    if (this.isGone(cell)) return;
    if (this.data.editing) this.set([cell], !this.chosen.has(cell.address));
    else this.chosen = new Set([cell.address]);
    this.tell();
  }

  set(cells, off) {
    for (const cell of cells) {
      if (this.isGone(cell)) continue;
      if (off) this.chosen.add(cell.address);
      else this.chosen.delete(cell.address);
    }
  }

  tell() {
    this.paint();
    const turned = [...without(this.chosen, this.told), ...without(this.told, this.chosen)];
    if (this.data.editing && turned.length) this.steps.push(turned); // a page that is slow sees several at once
    this.told = new Set(this.chosen);
    this.report({ revision: this.revision, heads: [...this.chosen], steps: [...this.steps] });
  }

  cellOf(event) {
    return this.cellByElement.get(event.target.closest(".hl-cell"));
  }

  rove(cell) {
    if (!cell) return;
    if (this.roving) this.roving.element.tabIndex = -1;
    this.roving = cell;
    cell.element.tabIndex = 0;
  }

  onClick(event) {
    const cell = this.cellOf(event);
    if (cell && !this.skipClick) this.act(cell);
    this.skipClick = false;
  }

  onKey(event) {
    const cell = this.cellOf(event);
    if (!cell || event.altKey || event.metaKey) return;
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      if (!event.repeat) this.act(cell);
      return;
    }
    const next = this.neighbour(cell, event.key, event.ctrlKey);
    if (!next) return;
    event.preventDefault();
    next.element.focus();
  }

  neighbour({ bank, layer, head }, key, far) {
    const rows = this.banks[bank];
    switch (key) {
      case "ArrowRight":
        return rows[layer][head + 1] ?? this.inBank(bank + 1, layer)?.at(0);
      case "ArrowLeft":
        return rows[layer][head - 1] ?? this.inBank(bank - 1, layer)?.at(-1);
      case "ArrowDown":
        return near(rows.slice(layer + 1).find(hasHeads), head);
      case "ArrowUp":
        return near(rows.slice(0, layer).findLast(hasHeads), head);
      case "Home":
        return far ? this.cells[0] : rows[layer][0];
      case "End":
        return far ? this.cells.at(-1) : rows[layer].at(-1);
      default:
        return undefined;
    }
  }

  inBank(bank, layer) {
    const rows = this.banks[bank]?.filter(hasHeads);
    return rows?.[Math.min(layer, rows.length - 1)];
  }

  onDown(event) {
    this.skipClick = false;
    const start = this.cellOf(event);
    if (!start || !this.data.editing || event.button !== 0 || event.pointerType === "touch") return;
    const places = this.banks[start.bank].flat().map((cell) => [cell, cell.element.getBoundingClientRect()]);
    this.drag = { start, places, before: this.chosen, off: !this.chosen.has(start.address), boxed: false };
    const listening = new AbortController();
    const until = { signal: listening.signal };
    const end = (keep) => () => {
      listening.abort();
      this.endDrag(keep);
    };
    window.addEventListener("pointermove", (moved) => this.onMove(moved), until);
    window.addEventListener("pointerup", end(true), until);
    window.addEventListener("pointercancel", end(false), until);
  }

  onMove(event) {
    if (!this.drag) return;
    const { start, places, before, off } = this.drag;
    const here = nearest(places, event.clientX, event.clientY);
    this.drag.boxed ||= here !== start;
    if (!this.drag.boxed) return;
    this.chosen = new Set(before);
    this.set(places.map(([cell]) => cell).filter(isBetween(start, here)), off);
    this.paint();
  }

  endDrag(keep) {
    const drag = this.drag;
    this.drag = null;
    if (!drag?.boxed) return;
    this.skipClick = true;
    if (!keep) this.chosen = drag.before;
    this.tell();
  }
}

function made(tag, classes = "", text = "") {
  const element = document.createElement(tag);
  element.className = classes;
  element.textContent = text;
  return element;
}

function without(some, others) {
  return [...some].filter((one) => !others.has(one));
}

function joined(separator, ...parts) {
  return parts.filter(Boolean).join(separator);
}

function header(columns) {
  const row = made("div", "hl-row hl-header");
  row.setAttribute("aria-hidden", "true");
  row.append(made("span", "hl-label"));
  for (let head = 0; head < columns; head++) row.append(made("span", "hl-label", String(head)));
  return row;
}

function hasHeads(row) {
  return row.length > 0;
}

function near(row, head) {
  return row?.[Math.min(head, row.length - 1)];
}

function nearest(places, x, y) {
  const away = ([, box]) => Math.hypot(x - (box.left + box.right) / 2, y - (box.top + box.bottom) / 2);
  return places.reduce((best, place) => (away(place) < away(best) ? place : best))[0];
}

function isBetween(one, other) {
  const within = (value, a, b) => Math.min(a, b) <= value && value <= Math.max(a, b);
  return (cell) => within(cell.layer, one.layer, other.layer) && within(cell.head, one.head, other.head);
}
