// What is looked at: the stretch of time, the rows, the filter, the conflict and the operation that are chosen.

const GUTTER = 116;
const AXIS = 26;
const TRACK = 19;
const MOST_TRACKS = 5;
const canvas = document.getElementById("timeline");

const view = {
  from: 0, to: SPAN, scroll: 0, height: 400, width: 900,
  focus: -1, chosen: -1, hover: -1, only: false,
  key: "", process: "", words: "",
  lanes: [], shown: COUNT, shows: () => true, lit: new Map(), drawn: 0,
};

// Faults that are on at the same time lie on tracks below one another.
const tracks = [];
for (const fault of given.faults) {
  const until = fault.until === null ? SPAN : fault.until;
  let place = tracks.findIndex((free) => free <= fault.from);
  if (place < 0) place = tracks.length;
  tracks[place] = until;
  fault.track = place;
  fault.end = until;
}

function top() {
  return AXIS + Math.min(MOST_TRACKS, tracks.length) * TRACK + (tracks.length ? 5 : 0);
}

function laneHeight() {
  const room = view.height - top() - 8;
  const tallest = view.lanes.length <= 8 ? 72 : 40; // few rows: room for edges between them
  return Math.max(17, Math.min(tallest, Math.floor(room / Math.max(1, view.lanes.length))));
}

function x(time) {
  return GUTTER + ((time - view.from) / (view.to - view.from)) * (view.width - GUTTER);
}

function timeAt(px) {
  return view.from + ((px - GUTTER) / (view.width - GUTTER)) * (view.to - view.from);
}

function laneTop(place) {
  return top() + place * laneHeight() - view.scroll;
}

function clampScroll() {
  const most = Math.max(0, view.lanes.length * laneHeight() - (view.height - top() - 8));
  view.scroll = Math.max(0, Math.min(most, view.scroll));
}

// At least a few nanoseconds, and never more than half a screen beside the history.
function look(from, to) {
  const smallest = given.clock === "index" ? 4 : 50;
  const largest = SPAN * 1.06;
  let length = Math.max(smallest, Math.min(largest, to - from));
  if (!Number.isFinite(length)) length = largest;
  const middle = (from + to) / 2;
  const start = Math.max(-length / 2, Math.min(SPAN - length / 2, middle - length / 2));
  view.from = start;
  view.to = start + length;
  redraw();
}

function lookAtAll() {
  look(-SPAN * 0.02, SPAN * 1.02);
}

function zoom(factor, around) {
  const still = around === undefined ? (view.from + view.to) / 2 : around;
  look(still - (still - view.from) * factor, still + (view.to - still) * factor);
}

function pan(part) {
  const by = (view.to - view.from) * part;
  look(view.from + by, view.to + by);
}

function scrollBy(px) {
  view.scroll += px;
  clampScroll();
  redraw();
}

// Makes the rows anew after the filter changed.
function arrange() {
  const matches = matcher(view.words);
  const key = view.key === "" ? -1 : Number(view.key);
  const process = view.process === "" ? -1 : Number(view.process);
  const conflict = given.conflicts[view.focus];
  const processes = view.only && conflict ? new Set(conflict.rows.map((row) => column.process[row])) : null;
  view.shows = (row) =>
    (key < 0 || keysOf(row).includes(key))
    && (process < 0 || column.process[row] === process)
    && (processes === null || processes.has(column.process[row]))
    && (matches === null || matches(row));
  view.lanes = lanesOf(view.shows);
  view.shown = view.lanes.reduce((sum, lane) => sum + lane.rows.length, 0);
  view.lit = new Map();
  if (conflict) conflict.rows.forEach((row, place) => view.lit.set(row, place + 1));
  clampScroll();
  forgetOverview();
  redraw();
}

function laneOf(row) {
  return view.lanes.findIndex((lane) => lane.process === column.process[row]
    && lane.rows[lowerBound(lane.rows.length, (at) => lane.rows[at], row)] === row);
}

function bringLaneIntoView(row) {
  const place = laneOf(row);
  if (place < 0) return;
  const height = laneHeight();
  if (laneTop(place) < top()) view.scroll -= top() - laneTop(place);
  if (laneTop(place) + height > view.height) view.scroll += laneTop(place) + height - view.height + 8;
  clampScroll();
}

// The stretch in which a conflict can be read: its operations and not much else. Where the first of them are
// so far away that bars would be slivers, it is the last ones; the timeline points to the others.
function stretchOf(all) {
  let rows = [...all].sort((a, b) => column.start[a] - column.start[b]);
  for (;;) {
    const [from, to] = boundsOf(rows);
    const lengths = rows.map((row) => column.end[row] - column.start[row]).sort((a, b) => a - b);
    if (rows.length <= 2 || to - from < 80 * lengths[lengths.length >> 1]) break;
    const [later, until] = boundsOf(rows.slice(1));
    if (until - later > (to - from) / 4) break; // nothing would become readable by leaving it out
    rows = rows.slice(1);
  }
  const [from, to] = boundsOf(rows);
  const length = Math.max(to - from, given.clock === "index" ? 4 : 40);
  return [from - length * 0.12, from + length * 1.22];
}

function boundsOf(rows) {
  const from = Math.min(...rows.map((row) => column.start[row]));
  let to = Math.max(...rows.map((row) => (column.open[row] ? column.start[row] : column.end[row])));
  // An unknown answer may come long after everything else: its bar runs out of the picture.
  const answered = rows.filter((row) => column.outcome[row] !== 2);
  if (answered.length) {
    const last = Math.max(...answered.map((row) => column.end[row]), ...rows.map((row) => column.start[row]));
    to = Math.min(to, last + (last - from) * 0.3);
  }
  return [from, to];
}

function focusOn(place) {
  if (!given.conflicts.length) return;
  const count = given.conflicts.length;
  view.focus = ((place % count) + count) % count;
  view.chosen = -1;
  const conflict = given.conflicts[view.focus];
  view.shows = () => true;
  if (view.only || tooManyRows()) setOnly(true);
  arrange();
  if (conflict.rows.some((row) => !view.shows(row))) clearFilter();
  if (conflict.rows.length) {
    view.scroll = 0;
    for (const row of [...conflict.rows].reverse()) bringLaneIntoView(row);
    look(...stretchOf(conflict.rows));
  }
  showPanel();
  say(`conflict ${view.focus + 1} of ${count}: ${conflict.name}. ${conflict.sentence}`);
}

function tooManyRows() {
  return given.processes.length * 17 > view.height - top();
}

function choose(row, { move = true } = {}) {
  view.chosen = row;
  if (row >= 0) {
    if (!view.shows(row)) clearFilter();
    if (move) {
      bringLaneIntoView(row);
      const [from, to] = [column.start[row], column.open[row] ? column.start[row] : column.end[row]];
      const length = Math.max(view.to - view.from, 1);
      if (to < view.from || from > view.to) look(from - length / 2, from + length / 2);
    }
    say(`${name(row)}, process ${given.processes[column.process[row]]}: ${label(row)}, ${OUTCOMES[column.outcome[row]]}, ${when(row)}`);
  }
  showPanel();
  redraw();
}

// The operation beside the chosen one in its row; where none is chosen, the first that is seen.
function step(by) {
  if (view.chosen < 0) {
    const lit = given.conflicts[view.focus];
    if (lit && lit.rows.length) return choose(lit.rows[0]);
    for (const lane of view.lanes) {
      const [first, last] = visible(lane, view.from, view.to);
      if (first < last) return choose(lane.rows[first]);
    }
    return undefined;
  }
  const lane = view.lanes[laneOf(view.chosen)];
  if (!lane) return undefined;
  const at = lowerBound(lane.rows.length, (place) => lane.rows[place], view.chosen) + by;
  return at >= 0 && at < lane.rows.length ? choose(lane.rows[at]) : undefined;
}

// The operation at a point of the canvas, or the nearest within a few pixels; -1 for none.
function rowAt(px, py) {
  const place = Math.floor((py - top() + view.scroll) / laneHeight());
  const lane = view.lanes[place];
  if (!lane || py < top() || px < GUTTER) return -1;
  const slack = ((view.to - view.from) / (view.width - GUTTER)) * 5;
  const time = timeAt(px);
  const [first, last] = visible(lane, time - slack, time + slack);
  let [best, distance] = [-1, Infinity];
  for (let at = first; at < last; at += 1) {
    const row = lane.rows[at];
    const end = Math.max(column.start[row], Math.min(column.end[row], SPAN));
    let away = time < column.start[row] ? column.start[row] - time : Math.max(0, time - end);
    if (view.lit.has(row)) away -= slack;
    if (away <= slack && away < distance) [best, distance] = [row, away];
  }
  return best;
}

let waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paint();
    paintOverview();
  });
}
