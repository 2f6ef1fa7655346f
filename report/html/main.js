// The beginning: filters and lists are filled, and everything is drawn once.
function refresh() {
  readFilter();
  applyFilter();
  listed = listStep;
  const before = [...found].join();
  openFound();
  if ([...found].join() !== before || found.size > 0 || groups.some(g => g.members.length > maxMembers && isOpen(g))) {
    build();
    fit();
  } else update();
  showList();
  showMap();
}

function openGroups(on) {
  for (const g of groups) {
    if (on && ofHosts(g) && hostCount > maxMembers) continue; // more than can be told apart
    if (on) open.add(g.i);
    else if (g.members.length > 1) open.delete(g.i);
  }
  build();
  fit();
}

function repaint() {
  readColours();
  draw();
  drawMap();
}

readColours();
openFirst();
offerFilters();
offerCounters();
readFilter();
applyFilter();
build();
fit();
showPauses();
showFilled();
showTimeline();
showList();
showMap();
watchPointer();
watchKeys();
watchMap();

const refreshSoon = soon(refresh);
byId("filters").addEventListener("input", refreshSoon);
byId("filters").addEventListener("reset", () => setTimeout(refresh)); // the fields are reset after this event
byId("filters").addEventListener("submit", e => e.preventDefault());
byId("counter").addEventListener("change", showMap);
byId("order").addEventListener("change", showMap);
byId("more").addEventListener("click", showMore);
byId("close").addEventListener("click", closeDetails);
byId("open-all").addEventListener("click", () => openGroups(true));
byId("close-all").addEventListener("click", () => openGroups(false));
byId("zoom-in").addEventListener("click", () => zoomMiddle(1.25));
byId("zoom-out").addEventListener("click", () => zoomMiddle(0.8));
byId("fit").addEventListener("click", fit);

let lastWidth = drawing.clientWidth;
new ResizeObserver(() => {
  if (drawing.clientWidth === lastWidth) return;
  lastWidth = drawing.clientWidth;
  fit();
  drawMap();
}).observe(drawing);
for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", repaint);
// On paper everything is there: all causes with their fixes, all rows of the heat map, and
// the changes of the time line.
function setPrinting(on) {
  printing = on;
  document.documentElement.classList.toggle("printing", on);
  listed = on ? 1000 : listStep;
  byId("changes").open = on;
  showList();
  fit();
  drawNow();
  showMap();
  drawMapNow();
}
addEventListener("beforeprint", () => setPrinting(true));
addEventListener("afterprint", () => setPrinting(false));
