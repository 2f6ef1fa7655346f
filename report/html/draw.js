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
  gather();
  hovered = null;
  const parts = [];
  for (const l of labels) {
    const e = el("div", {className: "tier"}, l.text);
    put(e, {x: 0, y: l.y, width: gap.label - 12, height: l.height});
    parts.push(e);
  }
  for (const f of frames) {
    const e = el("div", {className: "frame"});
    put(e, f);
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
  e.style[at.kind === "title" ? "maxWidth" : "width"] = at.width + "px"; // a title covers no more than it needs
  e.style.height = at.height + "px";
}

function deviceButton(item) {
  const d = devices[item.device];
  item.badge = el("span", {className: "badge", "aria-hidden": "true"});
  item.ring = el("span", {className: "ring", "aria-hidden": "true"});
  const e = el("button", {type: "button", className: "device" + (d.host ? " host" : ""), on: () => openDevice(d.i)},
    item.badge, item.ring, el("span", {className: "name"}, d.name));
  e.dataset.device = d.name;
  return e;
}

function groupButton(item) {
  const g = item.group, closed = item.kind === "group";
  item.badge = el("span", {className: "badge", "aria-hidden": "true"});
  item.ring = el("span", {className: "ring", "aria-hidden": "true"});
  item.note = el("span", {className: "note"});
  const e = el("button", {type: "button", className: item.kind, "aria-expanded": closed ? "false" : "true", on: () => toggle(g)},
    item.badge, item.ring, el("span", {className: "name"}, (closed ? "▸ " : "▾ ") + g.name), item.note);
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
    e.setAttribute("aria-label", e.title);
    for (const name of rankNames) e.classList.toggle(name, name === rankNames[r]);
    e.classList.toggle("faint", dim);
    item.badge.className = "badge " + rankNames[r];
    item.badge.textContent = markOf(r, blank);
  }
  for (const b of bundles) {
    b.rank = 0;
    b.faint = true;
    markBundle(b);
    for (const l of b.links) {
      b.rank = Math.max(b.rank, shown.link[l]);
      if (lit !== null ? chosen.has(l) : shown.matches[links[l].a] || shown.matches[links[l].b]) b.faint = false;
    }
  }
  draw();
}

// ends are the points that a bundle joins: the lower side of the upper item and
// the upper side of the lower one. Two items on one line are joined by an arc.
function ends(b) {
  let p = items[b.a], q = items[b.b];
  if (p.y > q.y) [p, q] = [q, p];
  const level = p.y + p.height >= q.y;
  return {
    x1: p.x + p.width / 2, y1: p.y + p.height, x2: q.x + q.width / 2, y2: level ? q.y + q.height : q.y,
    sag: level ? 24 + Math.abs(p.x - q.x) / 12 : 0,
  };
}

// maxCounts is up to how many bundles the number of links is written at them.
const maxCounts = 160;

function drawNow() {
  const width = drawing.clientWidth, height = drawing.clientHeight;
  if (width === 0) return;
  world.style.transform = `translate(${eye.x}px, ${eye.y}px) scale(${eye.scale})`;
  const c = fitCanvas(cables, width, height);
  c.clearRect(0, 0, width, height);
  drawPauses(c, bundles.filter(b => b.pause));
  for (const dim of [true, false]) {
    for (let r = 0; r <= 3; r++) {
      drawBundles(c, bundles.filter(b => b.rank === r && b.faint === dim), r, dim);
    }
  }
  if (hovered) drawBundles(c, [hovered], hovered.rank, false, true);
  if (bundles.length <= maxCounts) drawCounts(c);
}
const draw = soon(drawNow);

function drawBundles(c, list, r, dim, strong) {
  if (list.length === 0) return;
  c.globalAlpha = dim ? 0.12 : r > 0 || strong ? 1 : list.length > 400 ? 0.35 : 0.7;
  c.strokeStyle = colours[rankNames[r]];
  c.lineWidth = (r === 3 ? 2.4 : r > 0 ? 1.6 : 0.8) + (strong ? 2 : 0);
  c.setLineDash(r === 2 ? [7, 4] : r === 1 ? [2, 3] : []);
  c.beginPath();
  for (const b of list) {
    const e = ends(b), x = v => v * eye.scale + eye.x, y = v => v * eye.scale + eye.y;
    c.moveTo(x(e.x1), y(e.y1));
    if (e.sag > 0) c.quadraticCurveTo(x((e.x1 + e.x2) / 2), y(Math.max(e.y1, e.y2) + 2 * e.sag), x(e.x2), y(e.y2));
    else c.lineTo(x(e.x2), y(e.y2));
  }
  c.stroke();
  c.setLineDash([]);
  c.globalAlpha = 1;
}

// at is a point of a bundle, from 0 to 1.
function along(e, t) {
  if (e.sag === 0) return [e.x1 + (e.x2 - e.x1) * t, e.y1 + (e.y2 - e.y1) * t];
  const mx = (e.x1 + e.x2) / 2, my = Math.max(e.y1, e.y2) + 2 * e.sag, u = 1 - t;
  return [u * u * e.x1 + 2 * u * t * mx + t * t * e.x2, u * u * e.y1 + 2 * u * t * my + t * t * e.y2];
}

function drawCounts(c) {
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "center";
  c.textBaseline = "middle";
  bundles.forEach((b, i) => {
    if (b.links.length < 2 || b.faint) return;
    // Near the end of a closed group the lines are apart; an open one has its
    // title there.
    const lower = items[b.a].y > items[b.b].y ? items[b.a] : items[b.b];
    const spots = lower.kind === "group" ? [0.7, 0.6, 0.8] : [0.35, 0.45, 0.28];
    const [wx, wy] = along(ends(b), spots[i % 3]);
    const x = wx * eye.scale + eye.x, y = wy * eye.scale + eye.y;
    const text = "×" + b.links.length.toLocaleString("en"), w = c.measureText(text).width + 6;
    c.fillStyle = colours.panel;
    c.fillRect(x - w / 2, y - 7, w, 14);
    c.fillStyle = colours.text;
    c.fillText(text, x, y);
  });
}

// bundleAt returns the bundle nearest to a point of the drawing, in its pixels.
function bundleAt(px, py) {
  const x = (px - eye.x) / eye.scale, y = (py - eye.y) / eye.scale;
  let best = null, nearest = 6 / eye.scale;
  for (const b of bundles) {
    const e = ends(b), steps = e.sag > 0 ? 8 : 1;
    let [ax, ay] = along(e, 0);
    for (let i = 1; i <= steps; i++) {
      const [bx, by] = along(e, i / steps);
      const d = distance(x, y, ax, ay, bx, by) - b.rank * 0.01;
      if (d < nearest) [nearest, best] = [d, b];
      [ax, ay] = [bx, by];
    }
  }
  return best;
}

function distance(x, y, ax, ay, bx, by) {
  const dx = bx - ax, dy = by - ay;
  const t = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

// fit shows the whole drawing; its height follows what there is to draw.
function fit() {
  const width = drawing.clientWidth || 1200;
  const wanted = extent.height * Math.min(maxFit, width / extent.width);
  drawing.style.height = Math.max(220, Math.min(window.innerHeight * 0.72, wanted)) + "px";
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
