// Draws the timeline. Where bars would be under a pixel or two, a row is drawn as density instead.

const NARROW = 2;
const labelFont = "12px system-ui, sans-serif";

function paint() {
  const { context, width, height } = fit(canvas);
  view.width = width;
  view.height = height;
  clampScroll();
  context.clearRect(0, 0, width, height);
  context.font = labelFont;
  context.textBaseline = "middle";
  view.drawn = 0;
  paintRows(context);
  paintBands(context);
  context.save();
  context.beginPath();
  context.rect(GUTTER, top(), width - GUTTER, height - top());
  context.clip();
  view.lanes.forEach((lane, place) => {
    const y = laneTop(place);
    if (y + laneHeight() > top() && y < height) paintLane(context, lane, y);
  });
  paintLit(context);
  context.restore();
  paintNames(context);
  paintAxis(context);
  paintFaults(context);
}

function paintRows(context) {
  const height = laneHeight();
  view.lanes.forEach((lane, place) => {
    const y = laneTop(place);
    if (y + height < top() || y > view.height) return;
    context.fillStyle = colour.line;
    if (lane.first) context.fillRect(0, y, view.width, 1);
  });
}

function paintBands(context) {
  for (const fault of given.faults) {
    const [left, right] = [Math.max(GUTTER, x(fault.from)), Math.min(view.width, x(fault.end))];
    if (right <= GUTTER || left >= view.width) continue;
    const wide = Math.max(1, right - left);
    context.fillStyle = colour["fault-back"];
    if (fault.landed === false) {
      context.save();
      context.globalAlpha = 0.35;
      context.strokeStyle = colour.fault;
      context.lineWidth = 1;
      hatch(context, left, top(), wide, view.height - top(), 14);
      context.restore();
    } else {
      context.fillRect(left, top(), wide, view.height - top());
    }
  }
}

function barBox(row, y) {
  const left = x(column.start[row]);
  const right = x(Math.min(SPAN, column.end[row]));
  const lane = laneHeight();
  const height = Math.min(28, lane - (lane > 24 ? 12 : 6));
  return { left, right, y: y + (lane - height) / 2, height };
}

function paintLane(context, lane, y) {
  const [first, last] = visible(lane, view.from, view.to);
  const quiet = given.conflicts.length > 0 && view.focus >= 0;
  const columns = view.width - GUTTER;
  const pixels = columns / (view.to - view.from);
  let density = null;
  const wide = [];
  for (let at = first; at < last; at += 1) {
    const row = lane.rows[at];
    if (view.lit.has(row) || row === view.chosen) continue;
    if ((column.end[row] - column.start[row]) * pixels >= NARROW) { wide.push(row); continue; }
    density = density || new Float32Array(3 * (columns + 1));
    const px = Math.max(0, Math.min(columns, Math.floor((column.start[row] - view.from) * pixels)));
    density[3 * px + column.outcome[row]] += 1;
  }
  // Unknown outcomes may still take effect: their time does not end.
  if (lane.tail < view.to) dashed(context, Math.max(GUTTER, x(lane.tail)), view.width, y + laneHeight() - 2, colour.info, 1.2);
  for (const row of wide) paintBar(context, row, y, quiet);
  if (density) paintDensity(context, density, y, quiet);
  view.drawn += last - first;
}

function paintBar(context, row, y, quiet) {
  const { left, right, y: barY, height } = barBox(row, y);
  const outcome = column.outcome[row];
  const tone = outcome === 0 ? colour[quiet ? "ok-quiet" : "ok"] : colour[OUTCOMES[outcome]];
  const [from, to] = [Math.max(GUTTER - 6, left), Math.min(view.width + 6, right)];
  drawBar(context, from, barY, Math.max(1.5, to - from), height, outcome, tone);
  const room = Math.min(right, view.width) - Math.max(left, GUTTER) - 10;
  if (room > 26 && height > 9) {
    const ink = outcome === 0 ? (quiet ? colour.ink : colour["on-bar"]) : colour.ink;
    const after = outcome === 1 ? height + 4 : 5; // behind the cross
    paintText(context, label(row), Math.max(left, GUTTER) + after, barY + height / 2 + 0.5, room + 5 - after, ink, outcome === 0 ? null : colour.paper);
  }
}

function paintText(context, text, at, y, room, ink, back) {
  let shown = text;
  if (context.measureText(shown).width > room) {
    const letters = Math.max(1, Math.floor((room / context.measureText(shown).width) * shown.length) - 1);
    shown = `${shown.slice(0, letters)}…`;
  }
  if (back) {
    context.fillStyle = back;
    context.fillRect(at - 2, y - 7, context.measureText(shown).width + 4, 14);
  }
  context.fillStyle = ink;
  context.fillText(shown, at, y);
}

// How many operations begin in a pixel, as height; what failed or is unknown stands out at the bottom.
function paintDensity(context, density, y, quiet) {
  const full = Math.min(40, laneHeight()) - 5;
  for (let px = 0; 3 * px < density.length; px += 1) {
    const [ok, fail, info] = [density[3 * px], density[3 * px + 1], density[3 * px + 2]];
    const count = ok + fail + info;
    if (!count) continue;
    const tall = Math.min(full, 5 + (full - 5) * Math.min(1, Math.log2(count + 1) / 7));
    const base = y + laneHeight() - 3 - (laneHeight() - Math.min(40, laneHeight())) / 2;
    const left = GUTTER + px;
    if (ok) {
      context.fillStyle = colour[quiet ? "ok-quiet" : "ok"];
      context.fillRect(left, base - tall, 1, tall);
    }
    if (fail) {
      context.fillStyle = colour.fail;
      context.fillRect(left, base - tall, 1.5, Math.max(3, (tall * fail) / count));
    }
    if (info) {
      context.fillStyle = colour.info;
      const part = Math.max(3, (tall * info) / count);
      context.fillRect(left, base - part, 1.5, part);
    }
  }
}

// The operations of the conflict, over everything else: bars, numbers, words, and the edges between them.
function paintLit(context) {
  const boxes = new Map();
  const farAway = new Map();
  const order = [...view.lit.keys()].sort((a, b) => column.start[a] - column.start[b]);
  if (view.chosen >= 0 && !view.lit.has(view.chosen)) order.push(view.chosen);
  for (const row of order) {
    const place = laneOf(row);
    if (place < 0) continue;
    const box = barBox(row, laneTop(place));
    box.right = Math.max(box.right, box.left + 3);
    if (box.right < GUTTER || box.left > view.width) {
      if (view.lit.has(row)) paintFarAway(context, row, box, farAway);
      continue;
    }
    boxes.set(row, box);
    const tone = view.lit.has(row) ? colour.lit : colour[OUTCOMES[column.outcome[row]]];
    if (column.outcome[row] === 2) dashed(context, Math.max(GUTTER, box.right), view.width, box.y + box.height / 2, tone, 1.6);
    const left = Math.max(GUTTER - 6, box.left);
    drawBar(context, left, box.y, Math.min(view.width + 6, box.right) - left, box.height, column.outcome[row], tone);
    if (row === view.chosen) {
      context.strokeStyle = colour.chosen;
      context.lineWidth = 2;
      rounded(context, left - 2, box.y - 2, Math.min(view.width + 6, box.right) - left + 4, box.height + 4, 4);
      context.stroke();
    }
  }
  paintEdges(context, boxes);
  const taken = [];
  for (const [row, box] of boxes) paintCaption(context, row, box, taken);
}

// An operation of the conflict that lies outside of what is seen: an arrow at that side of its row.
function paintFarAway(context, row, box, taken) {
  const before = box.right < GUTTER;
  const roomy = laneHeight() >= 56;
  const [y, tall] = roomy ? [box.y - 19, 17] : [box.y, box.height];
  const spot = `${before} ${box.y}`;
  const inset = taken.get(spot) || 4;
  const away = before ? view.from - column.end[row] : column.start[row] - view.to;
  const words = `${view.lit.get(row)} ${label(row)}, ${duration(away)} ${before ? "earlier" : "later"}`;
  const shown = before ? `◂ ${words}` : `${words} ▸`;
  const wide = Math.min(300, context.measureText(shown).width + 14);
  const left = before ? GUTTER + inset : view.width - wide - inset;
  taken.set(spot, inset + wide + 4);
  context.fillStyle = colour["lit-back"];
  context.strokeStyle = colour.lit;
  context.lineWidth = 1.2;
  rounded(context, left, y, wide, tall, 5);
  context.fill();
  context.stroke();
  paintText(context, shown, left + 7, y + tall / 2 + 0.5, wide - 12, colour.lit, null);
}

function paintCaption(context, row, box, taken) {
  const number = view.lit.get(row);
  const left = Math.max(GUTTER, box.left);
  const y = box.y + box.height / 2;
  const words = label(row);
  const inside = Math.min(box.right, view.width) - left - (number ? 30 : 10);
  const needed = context.measureText(words).width;
  let at = left + 4;
  if (number) {
    const small = box.right - left < 24;
    const middle = small ? left + (box.right - left) / 2 : left + 12;
    context.fillStyle = small ? colour.lit : colour.paper;
    context.beginPath();
    context.arc(middle, small ? box.y - 2 : y, 8, 0, 7);
    context.fill();
    context.fillStyle = small ? colour["on-bar"] : colour.lit;
    context.font = "bold 11px system-ui, sans-serif";
    context.textAlign = "center";
    context.fillText(String(number), middle, (small ? box.y - 2 : y) + 0.5);
    context.textAlign = "left";
    context.font = labelFont;
    at = small ? box.right + 8 : left + 24;
  }
  if (inside >= Math.min(needed, 80) && inside > 24) {
    const filled = column.outcome[row] === 0;
    paintText(context, words, at, y + 0.5, inside, filled ? colour["on-bar"] : colour.ink, filled ? null : colour.paper);
    return;
  }
  // Beside the bar, where nothing else has been written.
  const length = Math.min(260, needed) + 12;
  const start = Math.min(box.right + (number && box.right - left < 24 ? 10 : 6), view.width - length - 2);
  const spot = { left: start, right: start + length, y };
  if (taken.some((one) => Math.abs(one.y - y) < 12 && one.left < spot.right && spot.left < one.right)) return;
  taken.push(spot);
  context.fillStyle = colour.paper;
  context.globalAlpha = 0.88;
  rounded(context, start, y - 9, length, 18, 4);
  context.fill();
  context.globalAlpha = 1;
  paintText(context, words, start + 5, y + 0.5, length - 8, number ? colour.lit : colour.ink, null);
}

const DASHES = { ww: [], wr: [2, 3], rw: [7, 4], so: [12, 3, 2, 3], rt: [12, 3, 2, 3] };

function paintEdges(context, boxes) {
  const conflict = given.conflicts[view.focus];
  if (!conflict) return;
  context.save();
  context.lineWidth = 1.6;
  conflict.edges.forEach(([source, target, kind], place) => {
    const [a, b] = [boxes.get(source), boxes.get(target)];
    if (!a || !b) return;
    const forth = b.left >= a.right;
    const from = { x: forth ? a.right : (Math.max(a.left, GUTTER) + a.right) / 2, y: a.y + a.height / 2 };
    const to = { x: forth ? b.left : (Math.max(b.left, GUTTER) + b.right) / 2, y: b.y + b.height / 2 };
    if (!forth) {
      // Bars that overlap: each edge has its own place in the stretch that they share.
      const shared = [Math.max(a.left, b.left, GUTTER), Math.min(a.right, b.right, view.width)];
      const part = (place + 1) / (conflict.edges.length + 1);
      if (shared[1] > shared[0]) from.x = to.x = shared[0] + (shared[1] - shared[0]) * part;
      from.y += b.y >= a.y ? a.height / 2 : -a.height / 2;
      to.y += b.y >= a.y ? -b.height / 2 : b.height / 2;
    }
    const bend = forth ? 26 * (place % 2 ? -1 : 1) : 0;
    const middle = { x: (from.x + to.x) / 2 + bend, y: (from.y + to.y) / 2 + (Math.abs(from.y - to.y) < 4 ? -34 : 0) };
    context.strokeStyle = colour.ink;
    context.setLineDash(DASHES[kind] || [4, 2]);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.quadraticCurveTo(middle.x, middle.y, to.x, to.y);
    context.stroke();
    context.setLineDash([]);
    arrowHead(context, middle, to);
    const at = { x: (from.x + 2 * middle.x + to.x) / 4, y: (from.y + 2 * middle.y + to.y) / 4 };
    const wide = context.measureText(kind).width + 8;
    context.fillStyle = colour.paper;
    rounded(context, at.x - wide / 2, at.y - 8, wide, 16, 4);
    context.fill();
    context.fillStyle = colour.ink;
    context.textAlign = "center";
    context.fillText(kind, at.x, at.y + 0.5);
    context.textAlign = "left";
  });
  context.restore();
}

function arrowHead(context, from, to) {
  const angle = Math.atan2(to.y - from.y, to.x - from.x);
  context.fillStyle = colour.ink;
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - 9 * Math.cos(angle - 0.4), to.y - 9 * Math.sin(angle - 0.4));
  context.lineTo(to.x - 9 * Math.cos(angle + 0.4), to.y - 9 * Math.sin(angle + 0.4));
  context.fill();
}

function paintNames(context) {
  const height = laneHeight();
  const conflict = given.conflicts[view.focus];
  const involved = new Set(conflict ? conflict.rows.map((row) => column.process[row]) : []);
  context.save();
  context.beginPath();
  context.rect(0, top(), GUTTER, view.height - top());
  context.clip();
  context.fillStyle = colour.paper;
  context.fillRect(0, top(), GUTTER - 4, view.height - top());
  view.lanes.forEach((lane, place) => {
    const y = laneTop(place);
    if (!lane.first || y + height < top() || y > view.height) return;
    context.fillStyle = colour.line;
    context.fillRect(0, y, GUTTER, 1);
    context.font = involved.has(lane.process) ? "bold 12px system-ui, sans-serif" : labelFont;
    paintText(context, given.processes[lane.process], 12, y + height / 2, GUTTER - 24, involved.has(lane.process) ? colour.lit : colour.soft, null);
  });
  context.restore();
  context.fillStyle = colour.line;
  context.fillRect(GUTTER - 1, top(), 1, view.height);
  if (!view.lanes.length) {
    context.fillStyle = colour.soft;
    context.fillText(COUNT ? "no operation matches the filter" : "this history has no operations", GUTTER + 16, top() + 20);
  }
}

function paintAxis(context) {
  context.fillStyle = colour.paper;
  context.fillRect(0, 0, view.width, AXIS);
  context.fillStyle = colour.line;
  context.fillRect(0, AXIS - 1, view.width, 1);
  context.fillStyle = colour.soft;
  context.fillText(given.clock === "index" ? "event" : "process", 12, AXIS / 2);
  const rough = (view.to - view.from) / Math.max(1, (view.width - GUTTER) / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const tick = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  for (let at = Math.ceil(view.from / tick) * tick; at <= view.to; at += tick) {
    if (at < -tick / 2 || at > SPAN + tick / 2) continue;
    const px = x(at);
    if (px < GUTTER) continue;
    context.fillRect(px, AXIS - 6, 1, 6);
    context.fillText(tickText(at, tick), px + 4, AXIS / 2 - 1);
  }
}

function tickText(at, tick) {
  if (given.clock === "index") return `${Math.round(at)}`;
  const [unit, one] = tick >= 1e8 ? ["s", 1e9] : tick >= 1e5 ? ["ms", 1e6] : tick >= 100 ? ["µs", 1e3] : ["ns", 1];
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(tick / one) + 1e-9)));
  return `${(at / one).toFixed(digits)} ${unit}`;
}

function faultWords(fault) {
  return `${fault.plane}/${fault.kind} ${fault.targets.slice(0, 4).join(", ")}${fault.targets.length > 4 ? ` and ${fault.targets.length - 4} more` : ""}`;
}

const LANDED = new Map([[true, "landed"], [false, "not proven to have landed"], [null, "landing not recorded"]]);

function paintFaults(context) {
  if (!tracks.length) return;
  context.fillStyle = colour.paper;
  context.fillRect(0, AXIS, view.width, top() - AXIS);
  context.fillStyle = colour.soft;
  context.fillText("faults", 12, AXIS + TRACK / 2 + 2);
  for (const fault of given.faults) {
    if (fault.track >= MOST_TRACKS) continue;
    const [left, right] = [Math.max(GUTTER, x(fault.from)), Math.min(view.width, x(fault.end))];
    if (right <= GUTTER || left >= view.width) continue;
    const [y, wide, tall] = [AXIS + fault.track * TRACK + 3, Math.max(2, right - left), TRACK - 4];
    if (fault.landed === false) {
      context.strokeStyle = colour.fault;
      context.lineWidth = 1;
      hatch(context, left, y, wide, tall, 6);
      context.setLineDash([4, 3]);
      context.strokeRect(left + 0.5, y + 0.5, wide - 1, tall - 1);
      context.setLineDash([]);
    } else {
      context.fillStyle = colour.fault;
      rounded(context, left, y, wide, tall, 3);
      context.fill();
    }
    if (wide > 40) {
      const words = `${faultWords(fault)}${fault.landed === true ? "" : `: ${LANDED.get(fault.landed)}`}`;
      paintText(context, words, left + 6, y + tall / 2 + 0.5, wide - 12, fault.landed === false ? colour.ink : colour["on-bar"], fault.landed === false ? colour.paper : null);
    }
  }
}
