// Mouse, wheel, keys and filters, and what is shown first.

const field = Object.fromEntries(["key", "process", "words", "only"].map((word) => [word, document.getElementById(word)]));
const help = document.getElementById("help");
const MOST_CHOICES = 1000;

function setOnly(only) {
  view.only = only;
  field.only.checked = only;
}

function clearFilter() {
  for (const word of ["key", "process", "words"]) {
    view[word] = "";
    field[word].value = "";
  }
  if (view.only && view.chosen >= 0 && !view.lit.has(view.chosen)) setOnly(false);
  arrange();
}

function filter() {
  for (const word of ["key", "process", "words"]) view[word] = field[word].value;
  view.only = field.only.checked;
  arrange();
  say(`${view.shown.toLocaleString("en")} of ${COUNT.toLocaleString("en")} operations shown`);
}

function choices(select, texts, order) {
  for (const code of order.slice(0, MOST_CHOICES)) element("option", texts[code], select, { value: String(code) });
}

const numerically = (texts) => [...texts.keys()].sort((a, b) => texts[a].localeCompare(texts[b], "en", { numeric: true }));
choices(field.key, given.keys, numerically(given.keys));
choices(field.process, given.processes, numerically(given.processes));
for (const word of ["key", "process", "only"]) field[word].addEventListener("change", filter);
field.words.addEventListener("input", filter);
document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  drag = { x: event.clientX, y: event.clientY, from: view.from, to: view.to, scroll: view.scroll, moved: false };
});
canvas.addEventListener("pointermove", (event) => {
  if (!drag) { hover(event); return; }
  const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  drag.moved = true;
  canvas.classList.add("dragging");
  const by = (-dx / (view.width - GUTTER)) * (drag.to - drag.from);
  view.scroll = drag.scroll - dy;
  clampScroll();
  look(drag.from + by, drag.to + by);
});
canvas.addEventListener("pointerup", (event) => {
  canvas.classList.remove("dragging");
  if (drag && !drag.moved) choose(rowAt(event.offsetX, event.offsetY), { move: false });
  drag = null;
});
canvas.addEventListener("pointercancel", () => { drag = null; });
canvas.addEventListener("pointerleave", () => { document.getElementById("tip").hidden = true; });
canvas.addEventListener("dblclick", (event) => zoom(0.25, timeAt(event.offsetX)));
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const unit = event.deltaMode === 1 ? 16 : 1;
  if (event.shiftKey) pan((event.deltaY * unit) / 1200);
  else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX * unit) / 1200);
  else if (event.altKey) scrollBy(event.deltaY * unit);
  else zoom(Math.exp((event.deltaY * unit) / 500), timeAt(Math.max(GUTTER, event.offsetX)));
}, { passive: false });

function hover(event) {
  const tip = document.getElementById("tip");
  const row = rowAt(event.offsetX, event.offsetY);
  view.hover = row;
  tip.hidden = row < 0;
  if (row < 0) return;
  tip.textContent = `${name(row)} ${label(row).slice(0, 300)} · ${OUTCOMES[column.outcome[row]]} · ${when(row)}`;
  tip.style.left = `${Math.max(0, Math.min(event.offsetX + 12, view.width - tip.offsetWidth - 8))}px`;
  tip.style.top = `${event.offsetY + 18 + tip.offsetHeight > view.height ? event.offsetY - tip.offsetHeight - 8 : event.offsetY + 18}px`;
}

function nextConflict(by) {
  focusOn(view.focus < 0 && by < 0 ? given.conflicts.length - 1 : view.focus + by);
}

const ACTIONS = {
  ArrowLeft: (event) => pan(event.shiftKey ? -0.9 : -0.12),
  ArrowRight: (event) => pan(event.shiftKey ? 0.9 : 0.12),
  ArrowUp: () => scrollBy(-2 * laneHeight()),
  ArrowDown: () => scrollBy(2 * laneHeight()),
  "+": () => zoom(1 / 1.5),
  "=": () => zoom(1 / 1.5),
  "-": () => zoom(1.5),
  _: () => zoom(1.5),
  0: lookAtAll,
  n: () => nextConflict(1),
  p: () => nextConflict(-1),
  ".": () => step(1),
  ",": () => step(-1),
  "/": () => field.words.focus(),
  r: () => { field.only.checked = !field.only.checked; filter(); },
  t: turnTheme,
  "?": () => help.showModal(),
  Escape: leave,
};

document.addEventListener("keydown", (event) => {
  if (help.open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, select")) {
    if (event.key === "Escape" || (event.key === "Enter" && event.target === field.words)) canvas.focus();
    return;
  }
  const conflict = given.conflicts[view.focus];
  if (/^[1-9]$/.test(event.key) && conflict && conflict.rows.length >= Number(event.key)) {
    choose(conflict.rows[Number(event.key) - 1]);
    return;
  }
  const action = Object.hasOwn(ACTIONS, event.key) ? ACTIONS[event.key] : null;
  if (!action) return;
  event.preventDefault();
  action(event);
});

function leave() {
  if (view.chosen >= 0) choose(-1);
  else clearFilter();
}

function turnTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  showLegend();
  forgetOverview();
  redraw();
}

const press = (id, action) => document.getElementById(id).addEventListener("click", action);
press("previous", () => nextConflict(-1));
press("next", () => nextConflict(1));
press("closer", () => zoom(1 / 1.5));
press("farther", () => zoom(1.5));
press("whole", lookAtAll);
press("theme", turnTheme);
press("ask", () => help.showModal());

preferDark.addEventListener("change", (event) => { setTheme(event.matches ? "dark" : "light"); showLegend(); redraw(); });
new ResizeObserver(redraw).observe(canvas);
let screenTheme = null;
window.addEventListener("beforeprint", () => {
  screenTheme = document.documentElement.dataset.theme;
  setTheme("light");
  showLegend();
  paint();
  paintOverview();
});
window.addEventListener("afterprint", () => { setTheme(screenTheme); showLegend(); redraw(); });

view.width = canvas.getBoundingClientRect().width;
view.height = canvas.getBoundingClientRect().height;
showFaults();
showLegend();
showNotes();
if (!given.conflicts.length) document.getElementById("previous").disabled = document.getElementById("next").disabled = true;
arrange();
lookAtAll();
if (given.conflicts.length) focusOn(0); else showPanel();
paint();
paintOverview();

// What is shown, for whoever tests the page.
window.refutePicture = Object.freeze({
  state: () => ({
    from: view.from, to: view.to, span: SPAN, operations: COUNT, shown: view.shown, drawn: view.drawn,
    rows: view.lanes.length, scroll: view.scroll, focus: view.focus, chosen: view.chosen, only: view.only,
    lit: [...view.lit.keys()].map(indexOf), theme: document.documentElement.dataset.theme, faults: given.faults.length,
  }),
  placeOf: (row) => ({ x: x((column.start[row] + column.end[row]) / 2), y: laneTop(laneOf(row)) + laneHeight() / 2 }),
});
