// The heat map: a row for each device that passes the filters, a column for each
// port. Only what is in sight is drawn.
const map = byId("map"), cells = byId("cells");
const cell = {side: 15, left: 130, top: 18};
let rows = [], columns = 0, counter = null, peak = 0;
let cursor = {row: 0, column: 0};

function valueOf(device, port) {
  if (counter === null) return shown.port[device][port];
  const v = counted(counter, device, port);
  return v === null ? null : Number(v);
}

function showMap() {
  counter = byId("counter").value === "" ? null : counters[Number(byId("counter").value)];
  rows = devices.filter(d => shown.matches[d.i] && d.ports.length > 0);
  columns = rows.reduce((n, d) => Math.max(n, d.ports.length), 0);
  peak = 0;
  let top = null;
  const highest = new Map();
  for (const d of rows) {
    let most = 0;
    for (let p = 0; p < d.ports.length; p++) most = Math.max(most, valueOf(d.i, p) || 0);
    highest.set(d, counter === null ? most * 1e6 + shown.count[d.i] : most);
    if (most > peak) [peak, top] = [most, d];
  }
  const tier = d => d.group < 0 ? 0 : groups[d.group].tier;
  const drawn = (a, b) => tier(b) - tier(a) || a.i - b.i;
  rows.sort(byId("order").value === "worst" ? (a, b) => highest.get(b) - highest.get(a) || drawn(a, b) : drawn);
  cursor.row = Math.max(0, Math.min(cursor.row, rows.length - 1));
  const size = byId("map-size");
  size.style.width = cell.left + columns * cell.side + 8 + "px";
  size.style.height = cell.top + rows.length * cell.side + 4 + "px";
  map.style.height = Math.min(560, cell.top + rows.length * cell.side + 24) + "px";
  byId("heat-note").textContent = note(top);
  drawMap();
}

function note(top) {
  if (rows.length === 0) return "No port passes the filters.";
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
      drawCell(c, cell.left + p * side - left, cell.top + r * side - top, valueOf(d, p), counter === null ? shown.far[d][p] : 0);
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
    if (p % 4 === 0 && x > cell.left) c.fillText(String(p + 1), x, cell.top / 2);
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
  if (counter === null) {
    c.fillStyle = colours[rankNames[v]];
    c.fillRect(x + 1, y + 1, side, side);
    c.fillStyle = colours.panel;
    c.font = "bold 10px system-ui, sans-serif";
    c.textAlign = "center";
    c.fillText(marks[v], x + 1 + side / 2, y + 1.5 + side / 2);
    return;
  }
  // Both the colour and the area grow with the value.
  const share = 0.15 + 0.85 * Math.log1p(v) / Math.log1p(peak);
  const length = side * Math.sqrt(share);
  c.globalAlpha = 0.35 + 0.65 * share;
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

function offerCounters() {
  counters.forEach((c, i) => byId("counter").append(el("option", {value: String(i)}, c.name)));
}
