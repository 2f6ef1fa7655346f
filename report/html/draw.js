// The drawing: cables on a canvas, devices and groups as buttons above it, so
// that a keyboard and a screen reader reach them.
const drawing = byId("drawing"), world = byId("world"), cables = byId("cables");
const eye = {x: 0, y: 0, scale: 1};
const minScale = 0.08, maxScale = 3, maxFit = 1.25;
let lit = null; // devices that the open details are about, or null for all
let chosen = new Set(); // links that they are about
let hovered = null; // a bundle

// build makes the buttons; update gives them what the filter leaves.
function build() {
  layout();
  const parts = [];
  for (const l of labels) {
    const e = el("div", {className: "tier"}, l.text);
    put(e, {x: 0, y: l.y, width: gap.label - 12, height: l.height});
    parts.push(e);
  }
  for (const item of items) {
    item.element = item.kind === "device" ? deviceButton(item) : groupButton(item);
    put(item.element, item);
    parts.push(item.element);
  }
  world.replaceChildren(...parts);
  update();
}

function put(e, at) {
  e.style.left = at.x + "px";
  e.style.top = at.y + "px";
  e.style.width = at.width + "px";
  e.style.height = at.height + "px";
}

function deviceButton(item) {
  const d = devices[item.device];
  item.badge = el("span", {className: "badge", "aria-hidden": "true"});
  item.ring = el("span", {className: "ring", "aria-hidden": "true"});
  const e = el("button", {type: "button", className: "device" + (d.host ? " host" : ""), on: () => openDevice(d.i)},
    item.badge, item.ring, el("span", {className: "name"}, d.name), item.said = el("span", {className: "said"}));
  e.dataset.device = d.name;
  return e;
}

function groupButton(item) {
  const g = item.group, closed = item.kind === "group";
  item.badge = el("span", {className: "badge", "aria-hidden": "true"});
  item.ring = el("span", {className: "ring", "aria-hidden": "true"});
  item.note = el("span", {className: "note"});
  const e = el("button", {type: "button", className: item.kind + (item.row ? " row" : ""), "aria-expanded": closed ? "false" : "true", on: () => toggle(g)},
    item.badge, item.ring, el("span", {className: "name"}, el("span", {"aria-hidden": "true"}, closed ? "▸ " : "▾ "), g.name), " ", item.note, item.said = el("span", {className: "said"}));
  e.dataset.group = g.name;
  return e;
}

// toggle opens or closes a group and stays at its button.
function toggle(g) {
  const was = isOpen(g);
  found.delete(g.i);
  if (was) open.delete(g.i);
  else open.add(g.i);
  build();
  fit();
  const item = items.find(i => i.group === g);
  if (item) item.element.focus({preventScroll: true});
}

function faint(device) {
  return lit !== null ? !lit.has(device) : !shown.matches[device];
}

function describe(d) {
  const r = shown.device[d.i], parts = [d.name];
  if (d.role) parts.push(d.role);
  parts.push(r > 0 ? "worst finding: " + rankNames[r] + ", " + plural(shown.count[d.i], "finding") : "no finding");
  if (d.error) parts.push("could not be read");
  else if (!d.source) parts.push("not looked at");
  return parts.join(", ");
}

function update() {
  for (const item of items) {
    const e = item.element;
    let r, dim, blank, source;
    if (item.kind === "device") {
      const d = devices[item.device];
      r = shown.device[d.i];
      dim = faint(d.i);
      blank = unread(d);
      e.classList.toggle("unread", blank);
      source = sourceMark([d.i]);
      e.title = describe(d);
    } else {
      const bad = item.group.members.filter(d => shown.device[d] > 0).length;
      r = item.group.members.reduce((worst, d) => Math.max(worst, shown.device[d]), 0);
      dim = item.group.members.every(faint);
      blank = item.group.members.every(d => unread(devices[d]));
      const all = plural(item.group.members.length, "device");
      source = item.kind === "group" ? sourceMark(item.group.members) : null;
      if (item.kind === "title") {
        const hidden = item.group.members.length - membersShown(item.group).length;
        item.note.textContent = all + (hidden > 0 ? ", " + hidden.toLocaleString("en") + " not drawn" : "");
      } else item.note.textContent = bad > 0 ? bad.toLocaleString("en") + " of " + all + " with findings" : all;
      e.title = item.group.name + ", " + item.note.textContent + ", worst finding: " + (r > 0 ? rankNames[r] : "none");
    }
    if (source) e.title += ", " + source.text;
    e.classList.toggle("source", source !== null);
    e.classList.toggle("unsure", source !== null && !source.certain);
    item.ring.textContent = source ? source.mark : "";
    item.said.textContent = e.title.slice(item.kind === "device" ? devices[item.device].name.length : (item.group.name + ", " + item.note.textContent).length);
    for (const name of rankNames) e.classList.toggle(name, name === rankNames[r]);
    e.classList.toggle("faint", dim);
    item.badge.className = "badge " + rankNames[r];
    item.badge.textContent = markOf(r, blank);
  }
  gather();
  for (const b of bundles) {
    judgeBundle(b);
    markBundle(b);
  }
  draw();
}

// maxCounts is up to how many bundles the number of links is written at them.
const maxCounts = 160;

const toX = v => v * eye.scale + eye.x, toY = v => v * eye.scale + eye.y;

function drawNow() {
  const width = drawing.clientWidth, height = drawing.clientHeight;
  if (width === 0) return;
  world.style.transform = `translate(${eye.x}px, ${eye.y}px) scale(${eye.scale})`;
  const c = fitCanvas(cables, width, height);
  c.clearRect(0, 0, width, height);
  drawPauses(c, bundles.filter(b => b.pause));
  for (const dim of [true, false]) drawLines(c, bundles.filter(b => b.faint === dim), dim, false);
  if (hovered) drawLines(c, [hovered], false, true);
  drawFrames(c);
  for (const dim of [true, false]) drawInside(c, bundles.filter(b => b.faint === dim), dim);
  for (const b of bundles) if (b.rank > 0) drawFaults(c, b);
  if (bundles.length <= maxCounts && eye.scale > 0.45) drawCounts(c);
}
const draw = soon(drawNow);

// trace is the way of a bundle, or of a part of it.
function trace(c, b, from = 0, to = 1) {
  const steps = b.sag > 0 ? 16 : 1;
  c.moveTo(...toPixels(along(b, from)));
  for (let i = 1; i <= steps; i++) c.lineTo(...toPixels(along(b, from + (to - from) * i / steps)));
}

function toPixels([x, y]) {
  return [toX(x), toY(y)];
}

// widths are those of lines, from so many links on.
const widths = [[1, 0.8], [2, 1.3], [8, 2], [64, 3]];

function drawLines(c, list, dim, strong) {
  c.strokeStyle = colours.ok;
  c.globalAlpha = dim ? 0.15 : strong ? 1 : list.length > 400 ? 0.35 : 0.7;
  widths.forEach(([least, width], i) => {
    const below = i + 1 < widths.length ? widths[i + 1][0] : Infinity;
    c.lineWidth = width + (strong ? 2 : 0);
    c.beginPath();
    for (const b of list) if (b.links.length >= least && b.links.length < below) trace(c, b);
    c.stroke();
  });
  c.globalAlpha = 1;
}

function drawFrames(c) {
  c.fillStyle = colours.panel;
  c.strokeStyle = colours.faint;
  c.lineWidth = 1;
  for (const f of frames) {
    c.beginPath();
    c.roundRect(toX(f.x), toY(f.y), f.width * eye.scale, f.height * eye.scale, 6 * eye.scale);
    c.fill();
    c.stroke();
  }
}

function drawInside(c, list, dim) {
  c.strokeStyle = colours.ok;
  c.globalAlpha = dim ? 0.15 : 0.7;
  c.lineWidth = 0.8;
  c.beginPath();
  for (const b of list) for (const [from, to] of inside(b)) trace(c, b, from, to);
  c.stroke();
  c.globalAlpha = 1;
}

// markScale makes marks smaller where the whole drawing is.
function markScale() {
  return Math.max(0.5, Math.min(1, eye.scale * 1.4));
}

// drawFaults marks the ends of a bundle at which a port has a finding: by the colour and
// the style of the line there, and an error or a warning by its sign, with the number of
// links where there are several.
function drawFaults(c, b) {
  const upperIsA = b.upper === b.a;
  const length = Math.hypot(b.x2 - b.x1, b.y2 - b.y1) * eye.scale || 1;
  c.globalAlpha = b.faint ? 0.2 : 1;
  for (const upper of [true, false]) {
    const [r, bad] = upper === upperIsA ? [b.rankA, b.badA] : [b.rankB, b.badB];
    if (r === 0) continue;
    const at = px => upper ? px / length : 1 - px / length;
    // A mark stands so far off its item that this does not cover it.
    const steep = Math.abs(b.y2 - b.y1) * eye.scale / length || 1;
    const k = markScale(), off = Math.min(16 * k / steep, length * 0.3), reach = Math.max(off + 10, Math.min(52 * k, length * 0.4)), room = (upper ? b.room1 : b.room2) * eye.scale;
    c.strokeStyle = c.fillStyle = colours[rankNames[r]];
    c.lineWidth = Math.max(1.2, Math.min(r === 3 ? 3 : 2, room / 2)); // many side by side stay apart
    c.setLineDash(r === 2 ? [7, 4] : r === 1 ? [2, 3] : []);
    c.beginPath();
    trace(c, b, at(0), at(Math.min(reach, length)));
    c.stroke();
    c.setLineDash([]);
    const text = marks[r] + (bad > 1 ? " " + bad.toLocaleString("en") : "");
    c.font = "bold " + 10 * k + "px system-ui, sans-serif";
    const w = Math.max(14 * k, c.measureText(text).width + 7 * k);
    if (r === 1 || room < w) continue; // information is no fault; marks would cover one another
    const [x, y] = toPixels(along(b, at(off)));
    c.beginPath();
    c.roundRect(x - w / 2, y - 7 * k, w, 14 * k, 3 * k);
    c.fill();
    c.fillStyle = colours.panel;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillText(text, x, y + 0.5);
  }
  c.globalAlpha = 1;
}

function drawCounts(c) {
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "center";
  c.textBaseline = "middle";
  bundles.forEach((b, i) => {
    if (b.links.length < 2 || b.faint || b.rankA > 0 && b.rankB > 0 && Math.abs(b.y2 - b.y1) * eye.scale < 80) return;
    const [upper, lower] = b.upper === b.a ? [b.rankA, b.rankB] : [b.rankB, b.rankA];
    const spots = upper > lower ? [0.72, 0.66, 0.78] : lower > upper ? [0.28, 0.34, 0.22] : [0.5, 0.6, 0.42]; // away from a mark
    const [x, y] = toPixels(along(b, spots[i % 3]));
    const text = "×" + b.links.length.toLocaleString("en"), w = c.measureText(text).width + 6;
    if (!clear(x, y, w)) return;
    c.fillStyle = colours.panel;
    c.fillRect(x - w / 2, y - 7, w, 14);
    c.fillStyle = colours.text;
    c.fillText(text, x, y);
  });
}

// clear reports whether a text at a point lies on no frame and no item.
function clear(x, y, w) {
  const [left, right, top, bottom] = [x - w / 2, x + w / 2, y - 7, y + 7];
  return ![...frames, ...items].some(f => toX(f.x) < right && toX(f.x + f.width) > left && toY(f.y) < bottom && toY(f.y + f.height) > top);
}

// fit shows the whole drawing; its height follows what there is to draw.
function fit() {
  const width = drawing.clientWidth || 1200;
  const wanted = extent.height * Math.min(maxFit, width / extent.width);
  drawing.style.height = Math.max(220, Math.min(printing ? 1200 : window.innerHeight * 0.72, wanted)) + "px";
  eye.scale = Math.max(minScale, Math.min(maxFit, width / extent.width, drawing.clientHeight / extent.height));
  eye.x = Math.max(0, (width - extent.width * eye.scale) / 2);
  eye.y = 0;
  draw();
}

function zoom(factor, px, py) {
  const before = eye.scale;
  eye.scale = Math.max(minScale, Math.min(maxScale, before * factor));
  eye.x = px - (px - eye.x) * (eye.scale / before);
  eye.y = py - (py - eye.y) * (eye.scale / before);
  draw();
}

function zoomMiddle(factor) {
  zoom(factor, drawing.clientWidth / 2, drawing.clientHeight / 2);
}

// reveal moves the drawing until an item is in sight.
function reveal(item) {
  const margin = 12;
  const shift = (low, high, room) => low < margin ? margin - low : high > room - margin ? room - margin - high : 0;
  const x = item.x * eye.scale + eye.x, y = item.y * eye.scale + eye.y;
  eye.x += shift(x, x + item.width * eye.scale, drawing.clientWidth);
  eye.y += shift(y, y + item.height * eye.scale, drawing.clientHeight);
  draw();
}
