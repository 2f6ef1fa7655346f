// Building blocks of the page. Text is always set as text, never as markup: it
// comes from devices and files.
const byId = id => document.getElementById(id);

// el makes an element: properties, "aria-..." and other attributes with a dash,
// "on" for a listener of clicks, and children.
function el(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name === "on") e.addEventListener("click", value);
    else if (name.includes("-")) e.setAttribute(name, value);
    else e[name] = value;
  }
  e.append(...children.filter(c => c !== null && c !== undefined && c !== ""));
  return e;
}

// badge shows a rank by colour, mark and, to a screen reader, by name.
function badge(r, suppressed, unread) {
  const name = suppressed ? "suppressed" : rankNames[r], said = suppressed ? "accepted" : r === 0 && unread ? "not read" : name;
  return el("span", {className: "badge " + name, title: said, role: "img", "aria-label": said}, suppressed ? "~" : markOf(r, unread));
}

// markOf is the mark of a rank: nothing found is no tick where nobody looked.
function markOf(r, unread) {
  return r === 0 && unread ? "–" : marks[r];
}

function unread(d) {
  return d.error !== "" || !d.source;
}

// Colours come from the style sheet, so that light, dark and print agree.
let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ok", "info", "warning", "error", "suppressed", "text", "faint", "accent", "panel", "pause"]) {
    colours[name] = style.getPropertyValue("--" + name).trim();
  }
}

// fitCanvas gives a canvas the size that it is shown at, in the pixels of the
// screen, and returns its context in units of the page.
function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  return c;
}

let printing = false; // on paper nothing scrolls

// soon runs a function before the next frame, once however often it is asked.
function soon(run) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      run();
    });
  };
}
