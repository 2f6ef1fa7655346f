// Bundles are the lines of the drawing: the links between two items are one, and those
// between two groups are one where their devices stand in several rows, or have more
// links than can be told apart. A link that the details or a pause are about is drawn
// from device to device all the same, as long as these are not too many.
const maxLines = 40, maxApart = 400, maxPaused = 150;
let bundles = [];

function gather() {
  const pausedLinks = pauseOf.reduce((n, p) => n + (p > 0 ? 1 : 0), 0);
  const apart = l => chosen.size <= maxApart && chosen.has(l) || pausedLinks <= maxPaused && pauseOf[l] > 0;
  const byItems = new Map(), between = new Map();
  for (const l of links) {
    const a = itemOf[l.a], b = itemOf[l.b];
    if (a < 0 || b < 0 || a === b) continue;
    const bundle = bundleOf(byItems, items[a], items[b], items.length * Math.min(a, b) + Math.max(a, b) + (apart(l.i) ? 0.5 : 0));
    if (bundle.links.length === 0) {
      const [g, h] = [devices[l.a].group, devices[l.b].group].sort((x, y) => x - y);
      bundle.pair = apart(l.i) || g === h ? -1 : g * groups.length + h;
      between.set(bundle.pair, (between.get(bundle.pair) || 0) + 1);
    }
    bundle.links.push(l.i);
  }
  const trunks = new Map();
  bundles = [];
  for (const bundle of byItems.values()) {
    const n = between.get(bundle.pair), a = outer(bundle.a), b = outer(bundle.b);
    if (bundle.pair < 0 || n < 2 || n <= maxLines && !(a.lines > 1) && !(b.lines > 1)) {
      bundles.push(bundle);
      continue;
    }
    const trunk = bundleOf(trunks, a, b, bundle.pair);
    for (const l of bundle.links) trunk.links.push(l);
  }
  bundles.push(...trunks.values());
  attach();
  hovered = null;
}

function bundleOf(all, a, b, key) {
  let bundle = all.get(key);
  if (!bundle) {
    bundle = {a, b, links: [], rank: 0, rankA: 0, rankB: 0, badA: 0, badB: 0, faint: false};
    all.set(key, bundle);
  }
  return bundle;
}

// outer is the frame of an item, or the item where it has none.
function outer(item) {
  return item.frame || item;
}

// atA reports whether a device of a bundle is at its end a.
function atA(b, device) {
  return b.a.kind === "device" ? b.a.device === device : devices[device].group === b.a.group.i;
}

// attach finds the points that bundles join: on the lower side of the upper item and the
// upper side of the lower one, side by side in the order of what they lead to. Two items
// on one line are joined by an arc below them.
function attach() {
  const sides = new Map(); // of an item: its bundles below and above
  const at = (item, side, bundle, other) => {
    if (!sides.has(item)) sides.set(item, [[], []]);
    sides.get(item)[side].push({bundle, x: other.x + other.width / 2});
  };
  for (const b of bundles) {
    b.upper = b.a.y <= b.b.y ? b.a : b.b;
    b.lower = b.upper === b.a ? b.b : b.a;
    const level = b.upper.y + b.upper.height >= b.lower.y;
    b.y1 = b.upper.y + b.upper.height;
    b.y2 = level ? b.lower.y + b.lower.height : b.lower.y;
    b.sag = level ? 24 + Math.abs(b.a.x - b.b.x) / 12 : 0;
    at(b.upper, 0, b, b.lower);
    at(b.lower, level ? 0 : 1, b, b.upper);
  }
  for (const [item, both] of sides) {
    for (const list of both) {
      list.sort((p, q) => p.x - q.x);
      list.forEach(({bundle}, i) => {
        const x = item.x + item.width * (i + 1) / (list.length + 1), room = item.width / (list.length + 1);
        if (item === bundle.upper) [bundle.x1, bundle.room1] = [x, room];
        else [bundle.x2, bundle.room2] = [x, room];
      });
    }
  }
}

// judgeBundle notes the worst finding at each end of a bundle, and how many of its links
// have one there. The end that has the finding is marked, and not the other one.
function judgeBundle(b) {
  b.rankA = b.rankB = b.badA = b.badB = 0;
  b.faint = true;
  for (const i of b.links) {
    const l = links[i], a = shown.port[l.a][l.aPort], z = shown.port[l.b][l.bPort];
    const [here, there] = atA(b, l.a) ? [a, z] : [z, a];
    b.rankA = Math.max(b.rankA, here);
    b.rankB = Math.max(b.rankB, there);
    if (here > 0) b.badA++;
    if (there > 0) b.badB++;
    if (lit !== null ? chosen.has(i) : shown.matches[l.a] || shown.matches[l.b]) b.faint = false;
  }
  b.rank = Math.max(b.rankA, b.rankB);
}

// along is a point of a bundle: 0 is its upper end, 1 the lower one.
function along(b, t) {
  if (b.sag === 0) return [b.x1 + (b.x2 - b.x1) * t, b.y1 + (b.y2 - b.y1) * t];
  const mx = (b.x1 + b.x2) / 2, my = Math.max(b.y1, b.y2) + 2 * b.sag, u = 1 - t;
  return [u * u * b.x1 + 2 * u * t * mx + t * t * b.x2, u * u * b.y1 + 2 * u * t * my + t * t * b.y2];
}

// inside are the parts of a bundle that lie in the frames of its own ends: a frame hides
// all other lines, so that none crosses a title.
function inside(b) {
  if (b.sag > 0) return b.a.frame || b.b.frame ? [[0, 1]] : [];
  const parts = [], part = y => (y - b.y1) / (b.y2 - b.y1);
  if (b.upper.frame) parts.push([0, part(b.upper.frame.y + b.upper.frame.height)]);
  if (b.lower.frame) parts.push([part(b.lower.frame.y), 1]);
  return parts;
}

// bundleAt returns the bundle nearest to a point of the drawing, in its pixels.
function bundleAt(px, py) {
  const x = (px - eye.x) / eye.scale, y = (py - eye.y) / eye.scale;
  let best = null, nearest = 6 / eye.scale;
  for (const b of bundles) {
    const steps = b.sag > 0 ? 8 : 1;
    let [ax, ay] = along(b, 0);
    for (let i = 1; i <= steps; i++) {
      const [bx, by] = along(b, i / steps);
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
