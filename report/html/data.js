// The data that the page was written with, in the terms that the rest uses.
const raw = JSON.parse(document.getElementById("data").textContent);

// Ranks of severities: 0 is for no finding.
const severities = ["error", "warning", "info"];
const rank = {__proto__: null, error: 3, warning: 2, info: 1};
const rankNames = ["ok", "info", "warning", "error"];
const marks = ["✓", "i", "!", "✕"];

const devices = (raw.devices || []).map((d, i) => ({
  i,
  name: d.n,
  host: Boolean(d.h),
  role: d.r || (d.h ? "host" : ""),
  os: d.o || "",
  model: d.m || "",
  ports: raw.ports[d.p].n,
  speeds: raw.ports[d.p].v.map(label => raw.labels[label]),
  source: d.s || "",
  file: d.f || "",
  error: d.e || "",
  hint: d.a || "",
  links: new Map(), // by port
  group: -1,
}));

const links = [];
for (let at = 0; raw.links && at < raw.links.length; at += 7) {
  const [a, aPort, b, bPort, speed, cable, where] = raw.links.slice(at, at + 7);
  const link = {i: links.length, a, aPort, b, bPort, speed: raw.labels[speed], cable: raw.labels[cable], where: raw.labels[where]};
  links.push(link);
  devices[a].links.set(aPort, link);
  devices[b].links.set(bPort, link);
}

const groups = (raw.groups || []).map((g, i) => {
  for (const d of g.d) devices[d].group = i;
  return {i, name: g.n, tier: g.t, pod: g.p, members: g.d};
});

const causes = (raw.causes || []).map((c, i) => ({
  i,
  id: c.c,
  severity: c.s,
  rank: rank[c.s] || 1,
  what: c.w,
  fix: c.f || "",
  where: (c.i || []).map(label => raw.labels[label]),
  suppressed: c.u || null, // reason, until, where
  places: (c.p || []).map(([device, ports, peers]) => {
    const ends = [];
    for (let at = 0; peers && at < peers.length; at += 2) ends.push({device: peers[at], port: peers[at + 1]});
    return {device: device[0], where: raw.labels[device[1]], ports, peers: ends};
  }),
}));

const checks = new Map(Object.entries(raw.checks));

const counters = (raw.counters || []).map(c => ({name: c.n, values: c.v}));

// classes are those whose counters were read. The first counter that a port shows is that
// of its marks: a NIC has another one than a switch.
const byCounter = new Map(counters.map(c => [c.name, c]));
const classes = (raw.classes || []).map((c, i) => ({
  i,
  name: c.n,
  marks: (device, port) => firstCounted(c.m, device, port),
  received: (device, port) => firstCounted([c.r], device, port),
  sent: (device, port) => firstCounted([c.t], device, port),
  stopped: (device, port) => firstCounted([c.u], device, port),
}));

function firstCounted(names, device, port) {
  for (const name of names) {
    const c = byCounter.get(name), v = c ? counted(c, device, port) : null;
    if (v !== null) return v;
  }
  return null;
}

// pausesOn are the PFC frames of a class that a port received and sent.
function pausesOn(c, device, port) {
  const both = [c.received(device, port), c.sent(device, port)].filter(v => v !== null);
  return both.length > 0 ? both.reduce((sum, v) => sum + Number(v), 0) : null;
}

// classSays is what a class counted on a port, in words.
function classSays(c, device, port) {
  const parts = [];
  const add = (v, text) => {
    if (v !== null) parts.push(v.toLocaleString("en") + " " + text);
  };
  add(c.marks(device, port), "packets with an ECN mark");
  add(c.received(device, port), "PFC frames received");
  add(c.sent(device, port), "PFC frames sent");
  const stopped = c.stopped(device, port);
  if (stopped !== null && Number(stopped) > 0) parts.push("stopped for " + (Number(stopped) / 1000).toLocaleString("en", {maximumSignificantDigits: 3}) + " ms");
  return parts.length > 0 ? parts.join(", ") : "not shown";
}

// counted returns what a port has counted: a number, the digits of a large one,
// or null where the device does not show it.
function counted(counter, device, port) {
  const row = counter.values[device];
  if (row === undefined) return null;
  if (row === 0) return 0;
  return row[port] ?? null;
}

// farEnd returns the other end of the link of a port.
function farEnd(link, device, port) {
  return link.a === device && link.aPort === port ? {device: link.b, port: link.bPort} : {device: link.a, port: link.aPort};
}

function portName(device, port) {
  return devices[device].name + " " + devices[device].ports[port];
}

function linkName(l) {
  return portName(l.a, l.aPort) + " to " + portName(l.b, l.bPort);
}

function plural(n, one, many) {
  return n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");
}
