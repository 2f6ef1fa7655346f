// The list of causes.
const listStep = 200;
let listed = listStep;

// placesText says where a cause is, in a few words.
function placesText(places, few = 2) {
  if (places.length === 0) return "the fabric";
  const ports = places.reduce((n, p) => n + p.ports.length, 0);
  if (places.length === 1) {
    const d = devices[places[0].device], names = places[0].ports.map(p => d.ports[p]);
    if (names.length > 3) return d.name + ", " + plural(names.length, "port");
    return d.name + (names.length > 0 ? " " + names.join(", ") : "");
  }
  const some = places.slice(0, few).map(p => devices[p.device].name).join(", ");
  const rest = places.length > few ? " and " + (places.length - few).toLocaleString("en") + " more" : "";
  return some + rest + (ports > 0 ? ", " + plural(ports, "port") : "");
}

function showList() {
  const rows = shown.causes.slice(0, listed).map(({cause, places}) => {
    if (printing) return el("li", {}, causeBox(cause), el("p", {className: "at"}, placesText(places, 8)));
    const b = el("button", {type: "button", className: "cause", on: () => openCause(cause.i)},
      badge(cause.rank, cause.suppressed !== null), el("b", {}, cause.id), " ", el("span", {className: "what"}, cause.what),
      el("span", {className: "at"}, placesText(places)));
    b.dataset.cause = cause.i;
    return el("li", {className: cause.suppressed ? "suppressed" : cause.severity}, b);
  });
  byId("list").replaceChildren(...rows);
  const left = shown.causes.length - rows.length;
  byId("more").hidden = left <= 0;
  byId("more").textContent = "Show " + Math.min(left, listStep).toLocaleString("en") + " more of " + left.toLocaleString("en");
  const total = causes.length === 0 ? "Nothing was found." : shown.causes.length === 0 ? "Nothing passes the filters." :
    plural(shown.causes.length, "cause") + ", " + plural(shown.findings, "finding") + " shown.";
  byId("shown").textContent = total + (raw.leftOut > 0 ? " " + plural(raw.leftOut, "further finding") + " left out of this file." : "");
}

function showMore() {
  const at = listed;
  listed += listStep;
  showList();
  const first = byId("list").children[at];
  if (first) first.firstChild.focus();
}
