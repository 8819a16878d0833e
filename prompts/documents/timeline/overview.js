// The strip at the top: the whole history as density, faults and conflicts in it, and where the view is.

const strip = document.getElementById("overview");
let stripPicture = null;

function forgetOverview() {
  stripPicture = null;
}

function stripX(time, width) {
  return GUTTER + (time / SPAN) * (width - GUTTER - 12);
}

function stripTime(px, width) {
  return ((px - GUTTER) / (width - GUTTER - 12)) * SPAN;
}

function paintOverview() {
  const { context, width, height } = fit(strip);
  context.clearRect(0, 0, width, height);
  const theme = document.documentElement.dataset.theme;
  if (!stripPicture || stripPicture.width !== width || stripPicture.theme !== theme) {
    stripPicture = { width, theme, bars: stripBars(width) };
  }
  for (const fault of given.faults) {
    const [left, right] = [stripX(fault.from, width), stripX(fault.end, width)];
    context.fillStyle = colour.fault;
    context.globalAlpha = fault.landed === false ? 0.18 : 0.45;
    context.fillRect(left, 4, Math.max(1.5, right - left), 5);
    context.globalAlpha = 0.12;
    context.fillRect(left, 9, Math.max(1, right - left), height - 9);
    context.globalAlpha = 1;
  }
  const wide = COUNT < 500 ? 2.5 : 1;
  for (const { at, tall, rough } of stripPicture.bars) {
    context.fillStyle = colour["ok-quiet"];
    context.fillRect(at, height - tall - 4, wide, tall);
    if (rough) {
      context.fillStyle = colour.info;
      context.fillRect(at, height - rough - 4, wide, rough);
    }
  }
  given.conflicts.forEach((conflict, place) => {
    const here = place === view.focus;
    context.fillStyle = colour.lit;
    context.globalAlpha = here ? 1 : 0.45;
    for (const row of conflict.rows.slice(0, 200)) {
      const px = stripX(column.start[row], width);
      context.fillRect(px - 0.75, here ? 10 : height - 16, 1.5, here ? height - 14 : 12);
    }
    context.globalAlpha = 1;
  });
  const [left, right] = [stripX(Math.max(0, view.from), width), stripX(Math.min(SPAN, view.to), width)];
  context.fillStyle = colour.page;
  context.globalAlpha = 0.55;
  context.fillRect(GUTTER, 0, Math.max(0, left - GUTTER), height);
  context.fillRect(right, 0, Math.max(0, width - right), height);
  context.globalAlpha = 1;
  context.strokeStyle = colour.chosen;
  context.lineWidth = 1.5;
  rounded(context, left - 1, 1, Math.max(4, right - left + 2), height - 2, 4);
  context.stroke();
  context.font = labelFont;
  context.textBaseline = "middle";
  context.fillStyle = colour.soft;
  context.fillText("whole history", 12, height / 2 - 8);
  context.fillText(given.clock === "index" ? `${SPAN} events` : duration(SPAN), 12, height / 2 + 9);
}

function stripBars(width) {
  const counts = new Float32Array(width + 1);
  const rough = new Float32Array(width + 1);
  for (const lane of view.lanes) {
    for (const row of lane.rows) {
      const px = Math.floor(stripX(column.start[row], width));
      counts[px] += 1;
      if (column.outcome[row] !== 0) rough[px] += 1;
    }
  }
  const most = counts.reduce((a, b) => Math.max(a, b), 1);
  const bars = [];
  for (let px = 0; px <= width; px += 1) {
    if (!counts[px]) continue;
    const tall = 4 + 36 * (counts[px] / most);
    bars.push({ at: px, tall, rough: rough[px] ? Math.max(2, (tall * rough[px]) / counts[px]) : 0 });
  }
  return bars;
}

function followStrip(event) {
  const box = strip.getBoundingClientRect();
  const middle = stripTime(event.clientX - box.left, box.width);
  const length = view.to - view.from;
  look(middle - length / 2, middle + length / 2);
}

strip.addEventListener("pointerdown", (event) => {
  strip.setPointerCapture(event.pointerId);
  followStrip(event);
});
strip.addEventListener("pointermove", (event) => {
  if (strip.hasPointerCapture(event.pointerId)) followStrip(event);
});
strip.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2);
}, { passive: false });
