// The data that the page was written with, in the terms that the rest uses.
const raw = JSON.parse(document.getElementById("data").textContent);

// Ranks of severities: 0 is for no finding.
const severities = ["error", "warning", "info"];
const rank = {__proto__: null, error: 3, warning: 2, info: 1};
const rankNames = ["ok", "info", "warning", "error"];
const marks = ["✓", "i", "!", "✕"];

const devices = raw.devices.map((d, i) => ({
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
