// Where things stand in the drawing: tiers from the highest down, each with its
// groups, closed or opened to a grid of devices. Pods stand next to one another
// below what joins them.
const box = {width: 104, height: 26, gapX: 8, gapY: 6};
const card = {width: 208, height: 44};
const frame = {padding: 8, height: 42, title: {low: 84, high: 200, letter: 8.4, rest: 46, height: 34, top: 22}};
const gap = {tier: 68, pod: 28, line: 16, label: 90};

// A fabric of so many switches or hosts is shown with all its groups open. An
// open group shows so many devices, the worst first. A filter that leaves no
// more than a few opens their groups, and shows these alone.
const openSwitches = 80, openHosts = 24, maxMembers = 400, fewDevices = 60;

const open = new Set(), found = new Set();
const hostCount = devices.filter(d => d.host).length;

function isOpen(g) {
  return open.has(g.i) || found.has(g.i);
}

function ofHosts(g) {
  return g.members.length > 0 && devices[g.members[0]].host;
}

function openFirst() {
  for (const g of groups) {
    if (g.members.length === 1 || (ofHosts(g) ? hostCount <= openHosts : devices.length - hostCount <= openSwitches)) open.add(g.i);
  }
}

function openFound() {
  found.clear();
  if (!narrowed()) return;
  const few = devices.filter(d => shown.matches[d.i]);
  if (few.length > fewDevices) return;
  for (const d of few) if (d.group >= 0) found.add(d.group);
}

function membersShown(g) {
  const list = open.has(g.i) || !found.has(g.i) ? g.members : g.members.filter(d => shown.matches[d]);
  if (list.length <= maxMembers) return list;
  const worst = [...list].sort((a, b) => shown.matches[b] - shown.matches[a] || shown.device[b] - shown.device[a] || a - b);
  return worst.slice(0, maxMembers).sort((a, b) => a - b);
}

// items are what can be pointed at: closed groups, titles of open ones, and
// devices of open ones. frames surround the open ones.
let items = [], frames = [], labels = [];
let frameOf = new Map(); // by the number of a group
let itemOf = new Int32Array(devices.length); // of a device, -1 where it is not drawn
let extent = {width: 0, height: 0};

// roomy is the width at which groups fill a well-shaped area.
function roomy(list) {
  const area = list.reduce((sum, g) => sum + 1.7 * (isOpen(g) ? membersShown(g).length * box.width * box.height : card.width * card.height), 0);
  return Math.sqrt(area * 2.2);
}

function layout() {
  items = [];
  frames = [];
  frameOf = new Map();
  labels = [];
  itemOf.fill(-1);
  const rows = rowsOf(Math.max(1200, roomy(groups)));
  const width = Math.max(0, ...rows.map(r => r.width));
  let y = 8;
  for (const row of rows) {
    const tiers = [...new Set(row.blocks.flatMap(b => b.groups.map(g => g.tier)))].sort((a, b) => b - a);
    const start = Math.max(0, (width - row.width) / 2);
    for (const tier of tiers) {
      let x = start, height = 0;
      for (const b of row.blocks) {
        const here = b.groups.filter(g => g.tier === tier);
        height = Math.max(height, placeLines(linesOf(here, b.width), x, y, b.width));
        x += b.width + gap.pod;
      }
      labels.push({y, height, text: tierName(row.blocks.flatMap(b => b.groups).filter(g => g.tier === tier))});
      y += height + gap.tier;
    }
  }
  // The layout starts at 0; move it to the right of the names of the tiers.
  const solid = [...items, ...frames];
  const left = solid.reduce((x, i) => Math.min(x, i.x), Infinity) - gap.label;
  const right = solid.reduce((x, i) => Math.max(x, i.x + i.width), 0) + 12;
  for (const i of solid) i.x -= left;
  extent = {width: solid.length > 0 ? right - left : gap.label, height: Math.max(60, y - gap.tier + 16)};
}

// rowsOf puts blocks side by side: what belongs to no pod is one block for all
// its tiers, above the pods where it is what joins them. Pods share rows evenly.
function rowsOf(width) {
  const loose = groups.filter(g => g.pod < 0), pods = [];
  for (const g of groups) if (g.pod >= 0) (pods[g.pod] ||= []).push(g);
  const blocks = pods.filter(list => list).map(list => ({
    groups: list,
    width: Math.min(width, Math.max(card.width, list.some(isOpen) ? roomy(list) : 0, ...list.map(g => size(g, 1, 1).width))),
  }));
  // Pods share one row where each has room for two devices side by side: below one another,
  // the links of the lower ones would lie behind the upper ones.
  const share = (width + gap.pod) / blocks.length - gap.pod;
  if (share >= 2 * box.width + box.gapX + 2 * frame.padding) for (const b of blocks) b.width = Math.min(b.width, share);
  const widthOf = list => list.reduce((sum, b) => sum + gap.pod + b.width, -gap.pod);
  const perRow = Math.ceil(blocks.length / Math.max(1, Math.round(widthOf(blocks) / width)));
  const top = Math.max(...pods.flat().map(g => g.tier)); // below all without pods
  const block = list => ({width, blocks: list.length > 0 ? [{groups: list, width}] : []});
  const rows = [block(loose.filter(g => g.tier > top))];
  for (let i = 0; i < blocks.length; i += perRow) {
    const here = blocks.slice(i, i + perRow);
    rows.push({width: widthOf(here), blocks: here});
  }
  rows.push(block(loose.filter(g => !(g.tier > top))));
  return rows.filter(r => r.blocks.length > 0);
}

function tierName(here) {
  const roles = [...new Set(here.flatMap(g => g.members.map(d => devices[d].role)))].filter(r => r !== "");
  return roles.length > 0 ? roles.slice(0, 3).join(", ") : "devices";
}

// linesOf measures groups and breaks them into lines.
function linesOf(here, width) {
  const slots = Math.max(1, Math.floor((width - 2 * frame.padding + box.gapX) / (box.width + box.gapX)));
  const wanted = here.reduce((n, g) => n + (isOpen(g) ? membersShown(g).length : 2), 0);
  const rows = Math.ceil(wanted / slots);
  const lines = [];
  let line = null;
  for (const g of here) {
    const s = size(g, rows, slots);
    if (line === null || line.width + gap.line + s.width > width) {
      line = {sizes: [], width: -gap.line, height: 0};
      lines.push(line);
    }
    line.sizes.push(s);
    line.width += gap.line + s.width;
    line.height = Math.max(line.height, s.height);
  }
  return lines;
}

// placeLines puts lines below one another and returns their height.
function placeLines(lines, left, top, width) {
  let y = top;
  for (const line of lines) {
    let x = left + Math.max(0, (width - line.width) / 2);
    for (const s of line.sizes) {
      place(s, x, y);
      x += s.width + gap.line;
    }
    y += line.height + gap.line;
  }
  return Math.max(0, y - gap.line - top);
}

function size(g, rows, slots) {
  if (!isOpen(g)) return {group: g, width: card.width, height: card.height};
  const members = membersShown(g);
  if (g.members.length === 1) return {group: g, members, columns: 1, bare: true, width: box.width, height: box.height};
  // The title of devices in one row stands left of them, as links come from above and from
  // below; of several rows, above them: their links end at the frame.
  const title = titleWidth(g), across = n => n * (box.width + box.gapX) - box.gapX + 2 * frame.padding;
  if (rows === 1 && members.length <= slots && title + across(members.length) <= Math.max(1200, across(slots))) {
    return {group: g, members, columns: members.length, lines: 1, title, width: title + across(members.length), height: frame.height};
  }
  const columns = Math.min(members.length, slots, Math.max(2, Math.ceil(members.length / Math.max(2, rows))));
  const lines = Math.ceil(members.length / columns);
  return {
    group: g, members, columns, lines, title: 0,
    width: Math.max(title, across(columns)),
    height: frame.title.top + lines * (box.height + box.gapY) - box.gapY + 2 * frame.padding,
  };
}

function titleWidth(g) {
  const t = frame.title;
  return Math.max(t.low, Math.min(t.high, g.name.length * t.letter + t.rest));
}

function place(s, x, y) {
  if (!s.members) {
    const at = add({kind: "group", group: s.group, x, y, width: s.width, height: s.height});
    for (const d of s.group.members) itemOf[d] = at;
    return;
  }
  let left = x, top = y, around = null;
  if (!s.bare) {
    around = {kind: "frame", group: s.group, lines: s.lines, x, y, width: s.width, height: s.height};
    frames.push(around);
    frameOf.set(s.group.i, around);
    const t = frame.title;
    if (s.title > 0) add({kind: "title", group: s.group, x: x + 4, y: y + (frame.height - t.height) / 2, width: s.title - 4, height: t.height});
    else add({kind: "title", row: true, group: s.group, x: x + 4, y: y + 3, width: s.width - 8, height: t.top});
    left += s.title > 0 ? s.title + frame.padding : (s.width - s.columns * (box.width + box.gapX) + box.gapX) / 2;
    top += s.title > 0 ? frame.padding : t.top + frame.padding;
  }
  s.members.forEach((d, i) => {
    itemOf[d] = add({
      kind: "device", device: d, frame: around, width: box.width, height: box.height,
      x: left + (i % s.columns) * (box.width + box.gapX),
      y: top + Math.floor(i / s.columns) * (box.height + box.gapY),
    });
  });
}

function add(item) {
  item.i = items.length;
  items.push(item);
  return item.i;
}

