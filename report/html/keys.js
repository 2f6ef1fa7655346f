// Pointer and keyboard in the drawing.
function watchPointer() {
  let from = null;
  const at = e => {
    const r = drawing.getBoundingClientRect();
    return [e.clientX - r.left, e.clientY - r.top];
  };
  drawing.addEventListener("pointerdown", e => {
    if (e.button !== 0 || e.target.closest("button")) return;
    from = {x: e.clientX, y: e.clientY, eyeX: eye.x, eyeY: eye.y, moved: false};
    drawing.setPointerCapture(e.pointerId);
  });
  drawing.addEventListener("pointermove", e => {
    if (from !== null) {
      const dx = e.clientX - from.x, dy = e.clientY - from.y;
      if (Math.hypot(dx, dy) > 4) from.moved = true;
      if (from.moved) {
        eye.x = from.eyeX + dx;
        eye.y = from.eyeY + dy;
        draw();
      }
      return;
    }
    const found = e.target.closest("button") ? null : bundleAt(...at(e));
    if (found === hovered) return;
    hovered = found;
    drawing.classList.toggle("pointing", found !== null);
    hint(found);
    draw();
  });
  drawing.addEventListener("pointerup", e => {
    const moved = from === null || from.moved;
    from = null;
    const found = moved ? null : bundleAt(...at(e));
    if (found !== null) openBundle(found);
  });
  drawing.addEventListener("pointercancel", () => { from = null; });
  drawing.addEventListener("pointerleave", () => {
    hovered = null;
    hint(null);
    draw();
  });
  drawing.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.metaKey) return; // the page scrolls
    e.preventDefault();
    zoom(Math.exp(-e.deltaY / 300), ...at(e));
  }, {passive: false});
}

function hint(bundle) {
  byId("hint").hidden = bundle === null;
  if (bundle !== null) byId("hint").textContent = bundleName(bundle);
}

function bundleName(b) {
  const name = end => end.kind === "device" ? devices[end.device].name : end.group.name;
  if (b.links.length === 1) return linkName(links[b.links[0]]);
  return plural(b.links.length, "link") + " between " + name(b.a) + " and " + name(b.b);
}

const arrows = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

// next is the nearest item in a direction; what lies aside counts twice, and to
// the left and right are only those on a line.
function next(from, [dx, dy]) {
  let best = null, nearest = Infinity;
  for (const to of items) {
    const x = to.x + to.width / 2 - from.x - from.width / 2, y = to.y + to.height / 2 - from.y - from.height / 2;
    const ahead = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
    if (to === from || ahead <= 1 || (dy === 0 && aside > box.height)) continue;
    const d = ahead + 2 * aside;
    if (d < nearest) [nearest, best] = [d, to];
  }
  return best;
}

function watchKeys() {
  drawing.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = arrows[e.key];
    if (step) {
      const from = items.find(i => i.element === document.activeElement);
      const to = from ? next(from, step) : items[0];
      if (to) to.element.focus({preventScroll: true});
      e.preventDefault();
    } else if (e.key === "+" || e.key === "=") zoomMiddle(1.25);
    else if (e.key === "-") zoomMiddle(0.8);
    else if (e.key === "0") fit();
  });
  world.addEventListener("focusin", e => {
    const item = items.find(i => i.element === e.target);
    if (item) reveal(item);
  });
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const typing = e.target.closest("input, select, textarea");
    if (e.key === "/" && !typing) {
      e.preventDefault();
      byId("text").focus();
      byId("text").select();
    } else if (e.key === "Escape") {
      if (!byId("details").hidden) closeDetails();
      else if (typing) typing.blur();
    }
  });
}
