// The filters, and the findings that pass them.
const filter = {words: [], severities: new Set(severities), suppressed: false, check: "", role: ""};

// shown is the result: causes with the places that pass, and the worst rank of
// each device, link and port.
const shown = {
  causes: [],
  findings: 0,
  matches: new Uint8Array(devices.length), // devices
  device: new Uint8Array(devices.length),
  count: new Uint32Array(devices.length),
  link: new Uint8Array(links.length),
  port: devices.map(d => new Uint8Array(d.ports.length)),
  far: devices.map(d => new Uint8Array(d.ports.length)), // of findings of the other end of a port's link
};

function says(text) {
  const lower = text.toLowerCase();
  return filter.words.every(w => lower.includes(w));
}

// lowered are the names of ports, ready to be searched.
const lowered = new Map();
for (const d of devices) {
  if (!lowered.has(d.ports)) lowered.set(d.ports, d.ports.map(p => " " + p.toLowerCase()));
}

// portSays reports whether a port, or its device alone, is what the text names.
function portSays(device, port) {
  if (filter.words.length === 0) return true;
  const full = devices[device].name.toLowerCase() + (port === undefined ? "" : lowered.get(devices[device].ports)[port]);
  return filter.words.every(w => full.includes(w));
}

function deviceSays(d) {
  if (filter.role && d.role !== filter.role) return false;
  return portSays(d.i) || d.ports.some((_, p) => portSays(d.i, p));
}

function causePasses(c) {
  if (!filter.severities.has(c.severity)) return false;
  if (c.suppressed && !filter.suppressed) return false;
  return !filter.check || c.id === filter.check;
}

// placePasses returns the place with the ports that pass, or null.
function placePasses(place) {
  const roles = [place.device, ...place.peers.map(e => e.device)].map(d => devices[d].role);
  if (filter.role && !roles.includes(filter.role)) return null;
  if (filter.words.length === 0 || portSays(place.device)) return place;
  const keep = place.ports.map((port, i) => {
    const peer = place.peers[i];
    return portSays(place.device, port) || (peer !== undefined && portSays(peer.device, peer.port));
  });
  if (!keep.includes(true)) return null;
  return {...place, ports: place.ports.filter((_, i) => keep[i]), peers: place.peers.filter((_, i) => keep[i])};
}

function markPort(of, device, port, r) {
  of[device][port] = Math.max(of[device][port], r);
  const link = devices[device].links.get(port);
  if (link) shown.link[link.i] = Math.max(shown.link[link.i], r);
}

// A suppressed finding that is shown counts as information: somebody has
// accepted it.
function applyFilter() {
  shown.causes = [];
  shown.findings = 0;
  for (const list of [shown.device, shown.count, shown.link, ...shown.port, ...shown.far]) list.fill(0);
  for (const d of devices) shown.matches[d.i] = deviceSays(d) ? 1 : 0;
  for (const c of causes) {
    if (!causePasses(c)) continue;
    if (c.places.length === 0) {
      if (filter.role || !says(c.what + " " + c.where.join(" "))) continue;
      shown.findings++;
      shown.causes.push({cause: c, places: []});
      continue;
    }
    const places = c.places.map(placePasses).filter(p => p !== null);
    if (places.length === 0) continue;
    const r = c.suppressed ? rank.info : c.rank;
    for (const p of places) {
      shown.device[p.device] = Math.max(shown.device[p.device], r);
      shown.count[p.device]++;
      for (const port of p.ports) markPort(shown.port, p.device, port, r);
      for (const e of p.peers) markPort(shown.far, e.device, e.port, r);
    }
    shown.findings += places.length;
    shown.causes.push({cause: c, places});
  }
}

function narrowed() {
  return filter.words.length > 0 || filter.role !== "";
}

function readFilter() {
  filter.words = byId("text").value.toLowerCase().split(/\s+/).filter(w => w !== "");
  filter.severities = new Set(severities.filter(s => byId("show-" + s).checked));
  filter.suppressed = byId("show-suppressed").checked;
  filter.check = byId("check").value;
  filter.role = byId("role").value;
}

function offerFilters() {
  const ids = [...new Set(causes.map(c => c.id))].sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
  for (const id of ids) byId("check").append(el("option", {value: id}, id + (checks.has(id) ? ": " + checks.get(id).title : "")));
  const roles = [...new Set(devices.map(d => d.role).filter(r => r !== ""))].sort();
  for (const r of roles) byId("role").append(el("option", {value: r}, r));
}
