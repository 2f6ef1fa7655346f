// The time line: the rounds of a watch, those in a row that ended alike as one period, and
// what appeared and went.
const periods = (raw.periods || []).map(p => ({
  from: p.f, to: p.t, rounds: p.n, verdict: p.v, errors: p.e, warnings: p.w, unread: p.u,
  changes: p.c || [],
}));

const verdictLooks = {
  __proto__: null,
  ok: ["passed", "✓"], inconclusive: ["inconclusive", "?"], warnings: ["warning", "!"], unreadable: ["unreadable", "–"], errors: ["error", "✕"],
};

function clock(seconds, day, exact) {
  const d = new Date(seconds * 1000), two = n => String(n).padStart(2, "0");
  const time = two(d.getHours()) + ":" + two(d.getMinutes()) + (exact ? ":" + two(d.getSeconds()) : "");
  return day ? d.getFullYear() + "-" + two(d.getMonth() + 1) + "-" + two(d.getDate()) + " " + time : time;
}

function lasting(seconds) {
  if (seconds < 120) return plural(seconds, "second");
  if (seconds < 7200) return plural(Math.round(seconds / 60), "minute");
  if (seconds < 172800) return plural(Math.round(seconds / 3600), "hour");
  return plural(Math.round(seconds / 86400), "day");
}

function periodSays(p) {
  const span = clock(p.from, true) + " to " + clock(p.to, true) + " (" + lasting(p.to - p.from) + "): ";
  if (!p.verdict) return span + "nobody watched";
  const parts = [p.verdict];
  if (p.errors > 0) parts.push(plural(p.errors, "error"));
  if (p.warnings > 0) parts.push(plural(p.warnings, "warning"));
  if (p.unread > 0) parts.push(plural(p.unread, "device") + " not read");
  return span + parts.join(", ");
}

function showTimeline() {
  byId("time").hidden = periods.length === 0;
  if (periods.length === 0) return;
  const from = periods[0].from, to = periods[periods.length - 1].to, whole = Math.max(1, to - from);
  const rounds = periods.reduce((n, p) => n + p.rounds, 0);
  const wrong = periods.filter(p => p.verdict === "errors");
  byId("time-note").textContent = plural(rounds, "round") + " in " + lasting(to - from) + (wrong.length > 0 ? ", with errors for " + lasting(wrong.reduce((n, p) => n + p.to - p.from, 0)) : ", without errors");
  byId("strip").setAttribute("aria-label", "Verdicts of the watch. " + periods.slice(-20).map(periodSays).join("; "));
  byId("strip").replaceChildren(...periods.filter(p => p.verdict).map(p => {
    const [look, mark] = verdictLooks[p.verdict] || ["", ""];
    const e = el("div", {className: "period " + look, title: periodSays(p)}, (p.to - p.from) / whole > 0.02 ? mark : "");
    e.style.left = (p.from - from) / whole * 100 + "%";
    e.style.width = Math.max(0.15, (p.to - p.from) / whole * 100) + "%";
    return e;
  }));
  byId("ticks").replaceChildren(...[0, 0.25, 0.5, 0.75, 1].map(part => {
    const e = el("span", {}, clock(from + Math.round(part * whole), part === 0 || whole > 86400, whole < 1200));
    e.style.left = part * 100 + "%";
    return e;
  }));
  const changes = periods.flatMap(p => p.changes).reverse();
  byId("changes").hidden = changes.length === 0;
  byId("changes").querySelector("summary").textContent = plural(changes.length, "change") + ", the newest first";
  byId("changes-list").replaceChildren(...changes.slice(0, limit).map(c => el("li", {},
    el("time", {dateTime: new Date(c.t * 1000).toISOString()}, clock(c.t, true)),
    badge(c.g ? 0 : rank[c.s] || 1), " ", el("b", {}, c.c), c.g ? " is gone: " : " appeared: ", c.w,
    el("span", {className: "note"}, c.p ? " (" + c.p.join("; ") + (c.m ? " and " + plural(c.m, "more place") : "") + ")" : ""))));
}
