// The heat map: a row for each device that passes the filters, a column for each
// port. Only what is in sight is drawn.
const map = byId("map"), cells = byId("cells");
const cell = {side: 15, left: 130, top: 18};
const screenSide = 15, leastSide = 4, maxPrinted = 300; // rows that are printed
let rows = [], columns = 0, peak = 0;
let counter = null, traffic = null; // the counter, or the class, that is shown: else findings
let most = {marks: 0, pauses: 0}; // of the class
let cursor = {row: 0, column: 0};

function valueOf(device, port) {
  if (traffic !== null) {
    const marks = traffic.marks(device, port), pauses = pausesOn(traffic, device, port);
    return marks === null && pauses === null ? null : {marks: Number(marks), pauses};
  }
  if (counter === null) return shown.port[device][port];
  const v = counted(counter, device, port);
  return v === null ? null : Number(v);
}

// share is how much of a square a value fills: on a logarithmic scale, as both one pause
// and a million are to be seen.
function share(v, top) {
  return v > 0 ? 0.15 + 0.85 * Math.log1p(v) / Math.log1p(top) : 0;
}

function showMap() {
  const view = byId("counter").value;
  traffic = view.startsWith("class ") ? classes[Number(view.slice(6))] : null;
  counter = view === "" || traffic !== null ? null : counters[Number(view)];
  rows = devices.filter(d => shown.matches[d.i] && d.ports.length > 0);
  columns = rows.reduce((n, d) => Math.max(n, d.ports.length), 0);
  peak = 0;
  most = {marks: 0, pauses: 0};
  let top = null;
  const highest = new Map();
  if (traffic !== null) {
    for (const d of rows) {
      for (let p = 0; p < d.ports.length; p++) {
        const v = valueOf(d.i, p);
        if (v === null) continue;
        if (v.marks > most.marks) [most.marks, most.marked] = [v.marks, d];
        if (v.pauses > most.pauses) [most.pauses, most.paused] = [v.pauses, d];
      }
    }
  }
  for (const d of rows) {
    let high = 0;
    for (let p = 0; p < d.ports.length; p++) {
      const v = valueOf(d.i, p);
      high = Math.max(high, v === null ? 0 : traffic !== null ? share(v.marks, most.marks) + 2 * share(v.pauses, most.pauses) : v);
    }
    highest.set(d, counter === null && traffic === null ? high * 1e6 + shown.count[d.i] : high);
    if (high > peak) [peak, top] = [high, d];
  }
  const tier = d => d.group < 0 ? 0 : groups[d.group].tier;
  const drawn = (a, b) => tier(b) - tier(a) || a.i - b.i;
  rows.sort(byId("order").value === "worst" ? (a, b) => highest.get(b) - highest.get(a) || drawn(a, b) : drawn);
  const left = printing ? Math.max(0, rows.length - maxPrinted) : 0;
  if (left > 0) rows = rows.sort((a, b) => highest.get(b) - highest.get(a) || drawn(a, b)).slice(0, maxPrinted);
  cell.side = printing ? Math.max(leastSide, Math.min(screenSide, Math.floor((map.clientWidth - cell.left - 8) / columns))) : screenSide;
  cursor.row = Math.max(0, Math.min(cursor.row, rows.length - 1));
  const size = byId("map-size");
  size.style.width = cell.left + columns * cell.side + 8 + "px";
  size.style.height = cell.top + rows.length * cell.side + 4 + "px";
  map.style.height = Math.min(printing ? Infinity : 560, cell.top + rows.length * cell.side + 24) + "px";
  byId("heat-note").textContent = note(top) + (left > 0 ? " The highest " + plural(maxPrinted, "device") + " are printed, " + left.toLocaleString("en") + " are not." : "");
  drawMap();
}

function note(top) {
  if (rows.length === 0) return "No port passes the filters.";
  if (traffic !== null) {
    const said = (n, what, where) => n === 0 ? "no " + what : "most " + what + ": " + n.toLocaleString("en") + " (" + where.name + ")";
    return "Class " + traffic.name + ": the left bar is packets with an ECN mark, the right bar PFC frames, on a logarithmic scale; " +
      said(most.marks, "marks", most.marked) + ", " + said(most.pauses, "pauses", most.paused) + ". Marks without pauses show congestion control at work; pauses without marks show that it comes too late. A dot is a port that shows neither.";
  }
  if (counter !== null) {
    return peak === 0 ? counter.name + ": zero on every port that shows it. A dot is a port that does not." :
      counter.name + ": the fuller a square, the more; the scale is logarithmic. The most is " + peak.toLocaleString("en") + ", on " + top.name + ". A dot is a port that does not show it.";
  }
  return (counters.length === 0 ? "No counters were read: the map shows findings only. " : "") + "✕ error, ! warning, i info; an empty square is a port without a finding, and a coloured frame says that the other end of its link has one.";
}

function drawMapNow() {
  const width = map.clientWidth, height = map.clientHeight;
  if (width === 0) return;
  const c = fitCanvas(cells, width, height);
  c.clearRect(0, 0, width, height);
  const left = map.scrollLeft, top = map.scrollTop, side = cell.side;
  const first = Math.floor(top / side), last = Math.min(rows.length - 1, Math.floor((top + height) / side));
  const from = Math.floor(left / side), to = Math.min(columns - 1, Math.floor((left + width) / side));
  c.textBaseline = "middle";
  c.save();
  c.beginPath();
  c.rect(cell.left, cell.top, width, height);
  c.clip();
  for (let r = first; r <= last; r++) {
    for (let p = from; p <= to && p < rows[r].ports.length; p++) {
      const d = rows[r].i;
      drawCell(c, cell.left + p * side - left, cell.top + r * side - top, valueOf(d, p), counter === null && traffic === null ? shown.far[d][p] : 0);
    }
  }
  if (document.activeElement === map && rows.length > 0) {
    c.strokeStyle = colours.accent;
    c.lineWidth = 2;
    c.strokeRect(cell.left + cursor.column * side - left, cell.top + cursor.row * side - top, side, side);
  }
  c.restore();
  c.fillStyle = colours.text;
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "right";
  c.save();
  c.beginPath();
  c.rect(0, cell.top, cell.left, height);
  c.clip();
  for (let r = first; r <= last; r++) c.fillText(shorten(rows[r].name), cell.left - 6, cell.top + r * side - top + side / 2);
  c.restore();
  c.textAlign = "center";
  for (let p = from; p <= to; p++) {
    const x = cell.left + p * side - left + side / 2;
    if (p % (cell.side < 12 ? 8 : 4) === 0 && x > cell.left) c.fillText(String(p + 1), x, cell.top / 2);
  }
}
const drawMap = soon(drawMapNow);

function shorten(name) {
  return name.length > 20 ? name.slice(0, 19) + "…" : name;
}

// drawCell draws the square of a port, with a frame where the other end of its link has a
// finding that is about both.
function drawCell(c, x, y, v, far) {
  const side = cell.side - 2;
  c.lineWidth = 1;
  if (v === null) {
    c.fillStyle = colours.faint;
    c.fillRect(x + side / 2, y + side / 2, 2, 2);
    return;
  }
  c.strokeStyle = far > 0 ? colours[rankNames[far]] : colours.faint;
  c.strokeRect(x + 1.5, y + 1.5, side - 1, side - 1);
  if (v === 0) return;
  if (traffic !== null) {
    [["accent", v.marks, most.marks], ["pause", v.pauses, most.pauses]].forEach(([colour, n, top], i) => {
      const height = Math.round((side - 1) * share(n, top));
      c.fillStyle = colours[colour];
      c.fillRect(x + 1.5 + i * side / 2, y + 1 + side - height, side / 2 - 1, height);
    });
    return;
  }
  if (counter === null) {
    c.fillStyle = colours[rankNames[v]];
    c.fillRect(x + 1, y + 1, side, side);
    c.fillStyle = colours.panel;
    c.font = "bold " + side * 0.75 + "px system-ui, sans-serif";
    c.textAlign = "center";
    c.fillText(marks[v], x + 1 + side / 2, y + 1.5 + side / 2);
    return;
  }
  // Both the colour and the area grow with the value.
  const part = share(v, peak), length = side * Math.sqrt(part);
  c.globalAlpha = 0.35 + 0.65 * part;
  c.fillStyle = colours.accent;
  c.fillRect(x + 1 + (side - length) / 2, y + 1 + (side - length) / 2, length, length);
  c.globalAlpha = 1;
}

function readCell(row, column) {
  const d = rows[row];
  if (!d || column < 0 || column >= d.ports.length) return "";
  const worst = shown.port[d.i][column], far = d.links.get(column);
  let text = d.name + " " + d.ports[column] + (d.speeds[column] ? " (" + d.speeds[column] + ")" : "");
  if (far) {
    const e = farEnd(far, d.i, column);
    text += " to " + portName(e.device, e.port);
  }
  if (traffic !== null) text += ", " + traffic.name + ": " + classSays(traffic, d.i, column);
  if (counter !== null) {
    const v = counted(counter, d.i, column);
    text += ", " + counter.name + ": " + (v === null ? "not shown" : v.toLocaleString("en"));
  }
  const there = shown.far[d.i][column];
  return text + ", " + (worst > 0 ? "worst finding: " + rankNames[worst] : there > 0 ? "the other end has a finding: " + rankNames[there] : "no finding");
}

function openCell() {
  const d = rows[cursor.row];
  if (!d || cursor.column >= d.ports.length) return;
  const link = d.links.get(cursor.column);
  if (link) openLink(link.i);
  else openDevice(d.i);
}

function moveCursor(row, column) {
  cursor.row = Math.max(0, Math.min(rows.length - 1, row));
  const d = rows[cursor.row];
  cursor.column = Math.max(0, Math.min((d ? d.ports.length : 1) - 1, column));
  byId("cell").textContent = readCell(cursor.row, cursor.column);
}

function watchMap() {
  map.addEventListener("scroll", drawMap);
  map.addEventListener("focus", () => {
    moveCursor(cursor.row, cursor.column);
    drawMap();
  });
  map.addEventListener("blur", drawMap);
  map.addEventListener("keydown", e => {
    const step = arrows[e.key];
    if (step) {
      moveCursor(cursor.row + step[1], cursor.column + step[0]);
      const y = cursor.row * cell.side, x = cursor.column * cell.side;
      map.scrollTop = Math.max(y + cell.top + cell.side - map.clientHeight + 16, Math.min(map.scrollTop, y));
      map.scrollLeft = Math.max(x + cell.left + cell.side - map.clientWidth + 16, Math.min(map.scrollLeft, x));
      e.preventDefault();
      drawMap();
    } else if (e.key === "Enter") openCell();
  });
  const at = e => {
    const r = map.getBoundingClientRect();
    const x = e.clientX - r.left, y = e.clientY - r.top;
    if (x < cell.left || y < cell.top) return [-1, -1];
    return [Math.floor((y - cell.top + map.scrollTop) / cell.side), Math.floor((x - cell.left + map.scrollLeft) / cell.side)];
  };
  map.addEventListener("pointermove", e => {
    const text = readCell(...at(e));
    if (text !== "") byId("cell").textContent = text;
  });
  map.addEventListener("click", e => {
    const [row, column] = at(e);
    if (readCell(row, column) === "") return;
    moveCursor(row, column);
    openCell();
  });
}

// offerCounters fills the choice, of which the first class is shown at first.
function offerCounters() {
  const group = (label, list) => {
    if (list.length > 0) byId("counter").append(el("optgroup", {label}, ...list));
  };
  group("ECN marks and PFC pauses", classes.map(c => el("option", {value: "class " + c.i}, "class " + c.name)));
  group("counters", counters.map((c, i) => el("option", {value: String(i)}, c.name)));
  if (classes.length > 0) byId("counter").value = "class 0";
}
