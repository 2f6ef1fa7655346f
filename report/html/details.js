// The details of a device, a link, a bundle of links or a cause.
const details = byId("details");
let opener = null; // what had the focus before, by what finds it again

function openDetails(title, mark, lightDevices, lightLinks, ...parts) {
  if (details.hidden) opener = reference(document.activeElement);
  byId("details-body").replaceChildren(el("h2", {id: "details-title"}, mark, " ", title), ...parts.filter(p => p !== null));
  details.hidden = false;
  details.scrollTop = 0;
  details.focus({preventScroll: true});
  lit = lightDevices;
  chosen = lightLinks;
  update();
}

function closeDetails() {
  details.hidden = true;
  lit = null;
  chosen = new Set();
  update();
  const back = opener && opener();
  if (back) back.focus({preventScroll: true});
  opener = null;
}

// reference finds an element again after its list or drawing was made anew.
function reference(e) {
  if (!e) return null;
  for (const name of ["cause", "device", "group"]) {
    const value = e.dataset[name];
    if (value !== undefined) return () => [...document.querySelectorAll("[data-" + name + "]")].find(x => x.dataset[name] === value);
  }
  return () => e.isConnected ? e : null;
}

// facts is a list of names and values; those without a value are left out.
function facts(...pairs) {
  const list = el("dl");
  for (const [name, value] of pairs) {
    if (value) list.append(el("dt", {}, name), el("dd", {}, value));
  }
  return list.children.length > 0 ? list : null;
}

function linkButton(link, text) {
  return el("button", {type: "button", className: "go", on: () => openLink(link.i)}, badge(shown.link[link.i]), " ", text);
}

function deviceGo(device) {
  return el("button", {type: "button", className: "go", on: () => openDevice(device)}, devices[device].name);
}

function portGo(device, port, peer) {
  const link = devices[device].links.get(port);
  return el("button", {type: "button", className: "go", on: () => link ? openLink(link.i) : openDevice(device)},
    devices[device].ports[port] + (peer ? " to " + portName(peer.device, peer.port) : ""));
}

const limit = 300; // items of a list in the details

function limited(list, make) {
  const out = el("ul", {className: "plain"}, ...list.slice(0, limit).map(x => el("li", {}, make(x))));
  if (list.length > limit) out.append(el("li", {className: "note"}, "and " + (list.length - limit).toLocaleString("en") + " more"));
  return out;
}

// causeBox says what one cause is about, in full.
function causeBox(cause) {
  const check = checks.get(cause.id);
  return el("article", {className: "finding " + (cause.suppressed ? "suppressed" : cause.severity)},
    el("h3", {}, badge(cause.rank, cause.suppressed !== null), " ", cause.id, check ? ": " + check.title : ""),
    el("p", {className: "what"}, cause.what),
    facts(["why", check ? check.why : ""], ["fix", cause.fix], ["intent", cause.where.slice(0, 3).join(", ") + (cause.where.length > 3 ? " and " + plural(cause.where.length - 3, "more line") : "")],
      ["accepted", cause.suppressed ? cause.suppressed[0] + (cause.suppressed[1] ? ", until " + cause.suppressed[1] : "") + " (" + cause.suppressed[2] + ")" : ""]) || "");
}

function findingsOf(touches) {
  const list = shown.causes.filter(({places}) => places.some(touches));
  const all = causes.filter(c => c.places.some(touches)).length;
  const hidden = all - list.length;
  const parts = [el("h3", {className: "part"}, list.length > 0 ? "Findings" : "No finding" + (hidden > 0 ? " is shown" : ""))];
  if (hidden > 0) parts.push(el("p", {className: "note"}, plural(hidden, "cause") + " more under other filters."));
  parts.push(...list.slice(0, limit).map(({cause}) => {
    const one = causeBox(cause);
    one.append(el("button", {type: "button", className: "go", on: () => openCause(cause.i)}, "all places of this cause"));
    return one;
  }));
  if (list.length > limit) parts.push(el("p", {className: "note"}, plural(list.length - limit, "cause") + " more."));
  return el("div", {}, ...parts);
}

const sources = {__proto__: null, intent: "worked out from the intent", saved: "from a saved configuration", running: "read from the device", failed: "could not be read"};

function openDevice(i) {
  const d = devices[i];
  const mine = [...d.links].map(([port, link]) => ({port, link, far: farEnd(link, i, port)}));
  mine.sort((a, b) => shown.link[b.link.i] - shown.link[a.link.i] || a.port - b.port);
  const near = new Set([i, ...mine.map(m => m.far.device)]);
  openDetails(d.name, badge(shown.device[i], false, unread(d)), near, new Set(mine.map(m => m.link.i)),
    facts(["role", d.role], ["system", d.os], ["model", d.model], ["looked at", (sources[d.source] || "not in this run") + (d.file ? ": " + d.file : "")],
      ["error", d.error], ["hint", d.hint]),
    findingsOf(p => p.device === i || p.peers.some(e => e.device === i)),
    mine.length > 0 ? el("h3", {className: "part"}, plural(mine.length, "link")) : null,
    mine.length > 0 ? limited(mine, m => linkButton(m.link, d.ports[m.port] + " to " + portName(m.far.device, m.far.port))) : null);
}

function counterFacts(device, port) {
  const rows = counters.map(c => [c.name, counted(c, device, port)]).filter(([, v]) => v !== null && v !== 0);
  return rows.length > 0 ? facts(...rows.map(([name, v]) => [name, v.toLocaleString("en")])) : el("p", {className: "note"}, "all counters are at zero, or were not read");
}

function openLink(i) {
  const l = links[i], here = [{device: l.a, port: l.aPort}, {device: l.b, port: l.bPort}];
  const at = (device, port) => here.some(e => e.device === device && e.port === port);
  openDetails(linkName(l), badge(shown.link[i]), new Set([l.a, l.b]), new Set([i]),
    facts(["speed", l.speed], ["cable", l.cable], ["intent", l.where]),
    el("p", {}, deviceGo(l.a), " ", deviceGo(l.b)), ...pausesOf(l),
    findingsOf(p => p.ports.some(port => at(p.device, port)) || p.peers.some(e => at(e.device, e.port))),
    ...(counters.length === 0 ? [] : here.flatMap(e => [el("h3", {className: "part"}, "Counters of " + portName(e.device, e.port)), counterFacts(e.device, e.port)])));
}

function openBundle(b) {
  if (b.links.length === 1) {
    openLink(b.links[0]);
    return;
  }
  const list = b.links.map(i => links[i]).sort((x, y) => shown.link[y.i] - shown.link[x.i] || x.i - y.i);
  openDetails(bundleName(b), badge(b.rank), new Set(list.flatMap(l => [l.a, l.b])), new Set(b.links),
    limited(list, l => linkButton(l, linkName(l))));
}

// placeOf is a device, as many of its ports, and its line of the intent where
// the cause has several.
function placeOf(place, ports, line) {
  const e = el("span", {}, deviceGo(place.device));
  place.ports.slice(0, ports).forEach((port, i) => e.append(" ", portGo(place.device, port, place.peers[i])));
  if (place.ports.length > ports) e.append(" and " + plural(place.ports.length - ports, "more port"));
  if (line && place.where) e.append(" ", el("span", {className: "note"}, place.where));
  return e;
}

function openCause(i) {
  const cause = causes[i];
  const found = shown.causes.find(s => s.cause === cause), places = found ? found.places : cause.places;
  const near = new Set(places.flatMap(p => [p.device, ...p.peers.map(e => e.device)]));
  const on = new Set();
  for (const p of places) {
    for (const [device, port] of [...p.ports.map(x => [p.device, x]), ...p.peers.map(e => [e.device, e.port])]) {
      const link = devices[device].links.get(port);
      if (!link) continue;
      on.add(link.i);
      near.add(link.a).add(link.b);
    }
  }
  const check = checks.get(cause.id);
  openDetails(placesText(places), badge(cause.rank, cause.suppressed !== null), places.length > 0 ? near : null, on, causeBox(cause),
    places.length > 0 ? el("h3", {className: "part"}, "Where") : null,
    places.length > 0 ? limited(places, p => placeOf(p, places.length > 20 ? 8 : limit, cause.where.length > 1)) : null,
    check && check.sources ? el("h3", {className: "part"}, "Sources") : null,
    check && check.sources ? limited(check.sources, s => s) : null);
}
