// The sources of the pauses of a window, and the links over which pauses lead to
// them. An arrow points the way of the pauses, from a source to what it stops.
const pauses = (raw.pauses || []).map((s, i) => ({
  i,
  device: s.d,
  port: s.p, // -1 for none
  kind: s.k,
  class: s.c,
  certain: Boolean(s.y),
  what: s.w,
  fix: s.f || "",
  tree: Array.from({length: (s.t || []).length / 2}, (_, n) => ({device: s.t[2 * n], port: s.t[2 * n + 1]})), // the ports that are stopped
}));

const sourceOf = new Map(); // devices
for (const s of pauses) sourceOf.set(s.device, [...(sourceOf.get(s.device) || []), s]);

// Of each link, which ends are stopped and which are sources.
const towardA = 1, towardB = 2, fromA = 4, fromB = 8;
const pauseOf = new Uint8Array(links.length);
function endOf(link, device, port, a, b) {
  return link.a === device && link.aPort === port ? a : b;
}
for (const s of pauses) {
  for (const e of s.tree) {
    const link = devices[e.device].links.get(e.port);
    if (link) pauseOf[link.i] |= endOf(link, e.device, e.port, towardA, towardB);
  }
  const own = devices[s.device].links.get(s.port);
  if (own) pauseOf[own.i] |= endOf(own, s.device, s.port, fromA, fromB);
}

const ringMark = certain => certain ? "◎" : "◎?";
function ring(certain) {
  return el("span", {className: "ring", "aria-hidden": "true"}, ringMark(certain));
}

// sourceMark is what a button says of the sources on its devices.
function sourceMark(members) {
  const here = members.flatMap(d => sourceOf.get(d) || []);
  if (here.length === 0) return null;
  const certain = here.every(s => s.certain);
  const names = [...new Set(here.map(s => devices[s.device].name))];
  return {
    certain, mark: ringMark(certain),
    text: (certain ? "source of pauses: " : "may be the source of pauses: ") + names.slice(0, 3).join(", ") + (names.length > 3 ? " and " + (names.length - 3) + " more" : ""),
  };
}

// markBundle notes which way pauses go between two items, as of [pauseOf].
function markBundle(b) {
  b.pause = 0;
  for (const l of b.links) {
    const p = pauseOf[l];
    if (p === 0) continue;
    const straight = atA(b, links[l].a);
    b.pause |= straight ? p : (p & (towardA | fromA)) << 1 | (p & (towardB | fromB)) >> 1;
  }
}

// drawPauses draws a band with arrows along the links of a tree, and a ring at the
// end of a link that is a source: they are told apart without their colour.
function drawPauses(c, list) {
  for (const b of list) {
    const swapped = b.upper !== b.a;
    const [up, down] = swapped ? [towardB, towardA] : [towardA, towardB];
    const [top, bottom] = swapped ? [fromB, fromA] : [fromA, fromB];
    c.globalAlpha = b.faint ? 0.15 : 1;
    c.strokeStyle = c.fillStyle = colours.pause;
    if (b.pause & (up | down)) {
      c.beginPath();
      trace(c, b);
      c.lineWidth = 8;
      c.stroke();
      c.strokeStyle = colours.panel;
      c.lineWidth = 4;
      c.stroke();
    }
    if (b.pause & up) arrow(c, b, 0.52, -1);
    if (b.pause & down) arrow(c, b, 0.48, 1);
    for (const [bit, t] of [[top, 0.3], [bottom, 0.7]]) {
      if (!(b.pause & bit)) continue;
      const [x, y] = toPixels(along(b, t));
      c.fillStyle = colours.panel;
      c.strokeStyle = colours.pause;
      c.lineWidth = 2.5;
      c.beginPath();
      c.arc(x, y, 6, 0, 2 * Math.PI);
      c.fill();
      c.stroke();
      c.fillStyle = colours.pause;
      c.beginPath();
      c.arc(x, y, 2.5, 0, 2 * Math.PI);
      c.fill();
    }
  }
  c.globalAlpha = 1;
}

function arrow(c, b, t, way) {
  const [ax, ay] = toPixels(along(b, t - 0.01 * way)), [bx, by] = toPixels(along(b, t + 0.01 * way));
  const turn = Math.atan2(by - ay, bx - ax);
  c.save();
  c.translate((ax + bx) / 2, (ay + by) / 2);
  c.rotate(turn);
  c.fillStyle = colours.pause;
  c.beginPath();
  c.moveTo(11, 0);
  c.lineTo(-7, -8);
  c.lineTo(-7, 8);
  c.closePath();
  c.fill();
  c.restore();
}

// branches are the ports of a source's tree by the device that stops them: the pauses of
// that device come in at the far end of the port's link.
function branches(s) {
  const by = new Map(), loose = [];
  for (const e of s.tree) {
    const link = devices[e.device].links.get(e.port);
    if (!link) {
      loose.push(e);
      continue;
    }
    const from = farEnd(link, e.device, e.port).device;
    by.set(from, [...(by.get(from) || []), e]);
  }
  return {by, loose};
}

const maxTwigs = 12, maxTrees = 10;

// treeOf is who pauses whom, from the source on: each device with its ports that are
// stopped, and below it what it stops in turn. seen ends a cycle.
function treeOf(s, device, by, seen) {
  if (seen.has(device)) return null;
  seen.add(device);
  const stopped = new Map();
  for (const e of by.get(device) || []) stopped.set(e.device, [...(stopped.get(e.device) || []), e.port]);
  if (stopped.size === 0) return null;
  const list = [...stopped].sort(([a], [b]) => (by.has(b) ? 1 : 0) - (by.has(a) ? 1 : 0) || a - b);
  const out = el("ul", {className: "tree"}, ...list.slice(0, maxTwigs).map(([d, ports]) => twig(s, d, ports, treeOf(s, d, by, seen))));
  if (list.length > maxTwigs) out.append(el("li", {className: "note"}, "and " + plural(list.length - maxTwigs, "more device")));
  return out;
}

function twig(s, device, ports, below) {
  const some = ports.slice(0, 3).map(p => devices[device].ports[p]).join(", ") + (ports.length > 3 ? " and " + plural(ports.length - 3, "more port") : "");
  const c = classes.find(x => x.name === s.class);
  const frames = c ? ports.reduce((sum, p) => sum + Number(c.received(device, p) ?? 0), 0) : 0;
  return el("li", {}, deviceGo(device), " ", some, el("span", {className: "note"}, (frames > 0 ? ", " + plural(frames, "PFC frame") : "") + (below ? ", and stops" : "")), below);
}

function showPauses() {
  byId("pauses").hidden = byId("pauses-legend").hidden = pauses.length === 0;
  byId("pauses-list").replaceChildren(...pauses.slice(0, limit).map(s => {
    const {by, loose} = branches(s);
    const tree = s.i < maxTrees ? treeOf(s, s.device, by, new Set()) : null;
    return el("li", {}, el("button", {type: "button", className: "go", on: () => openSource(s.i)}, ring(s.certain), " ", s.what),
      tree ? el("div", {className: "note"}, devices[s.device].name + " stops") : null, tree,
      tree && loose.length > 0 ? el("div", {className: "note"}, "and " + plural(loose.length, "port") + " without a link in the intent") : null);
  }));
  if (pauses.length > limit) byId("pauses-list").append(el("li", {className: "note"}, "and " + (pauses.length - limit).toLocaleString("en") + " more"));
}

// openSource lights the tree of one source.
function openSource(i) {
  const s = pauses[i], on = new Set(), near = new Set([s.device]);
  for (const e of [{device: s.device, port: s.port}, ...s.tree]) {
    const link = devices[e.device].links.get(e.port);
    if (!link) continue;
    on.add(link.i);
    near.add(link.a).add(link.b);
  }
  openDetails(s.port < 0 ? devices[s.device].name : portName(s.device, s.port), ring(s.certain), near, on,
    el("p", {}, s.what), facts(["class", s.class], ["kind", s.kind], ["certain", s.certain ? "yes" : "no"], ["fix", s.fix]), el("p", {}, deviceGo(s.device)),
    el("h3", {className: "part"}, plural(s.tree.length, "port is stopped", "ports are stopped")), limited(s.tree, e => el("span", {}, deviceGo(e.device), " ", portGo(e.device, e.port))));
}

// pausesOf says in the details of a link which pauses go over it.
function pausesOf(link) {
  const at = e => devices[e.device].links.get(e.port) === link;
  const here = pauses.filter(s => at(s) || s.tree.some(at));
  if (here.length === 0) return [];
  return [el("h3", {className: "part"}, "Pauses"), limited(here, s => el("button", {type: "button", className: "go", on: () => openSource(s.i)}, s.what))];
}

// showFilled lists the headroom that lossless groups filled, the fullest first.
const filledRows = 20;
function showFilled() {
  const rows = raw.filled || [], notes = raw.unfilled || [];
  byId("filled").hidden = rows.length + notes.length === 0;
  byId("filled-table").hidden = rows.length === 0;
  byId("filled-rows").replaceChildren(...rows.slice(0, filledRows).map(r => el("tr", {}, ...r.map(text => el("td", {}, text)))));
  const more = rows.length > filledRows ? ["and " + plural(rows.length - filledRows, "more row") + ", each filled to at most " + rows[filledRows][0]] : [];
  byId("filled-notes").replaceChildren(...[...more, ...notes].map(text => el("li", {className: "note"}, text)));
}
