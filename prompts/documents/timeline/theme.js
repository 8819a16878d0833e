// Colours, taken from the style sheet so that the canvas follows light and dark, and the shapes of bars.

const colour = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const word of ["page", "paper", "ink", "soft", "line", "row", "ok", "ok-quiet", "fail", "info", "lit", "lit-back", "fault", "fault-back", "chosen", "on-bar"]) {
    colour[word] = style.getPropertyValue(`--${word}`).trim();
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColours();
}

const preferDark = matchMedia("(prefers-color-scheme: dark)");
setTheme(preferDark.matches ? "dark" : "light");

// A canvas sized for the screen's own pixels; drawing is in CSS pixels.
function fit(canvas) {
  const scale = window.devicePixelRatio || 1;
  const box = canvas.getBoundingClientRect();
  const [width, height] = [Math.max(1, Math.round(box.width)), Math.max(1, Math.round(box.height))];
  if (canvas.width !== width * scale || canvas.height !== height * scale) {
    canvas.width = width * scale;
    canvas.height = height * scale;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return { context, width, height };
}

function rounded(context, x, y, width, height, radius) {
  context.beginPath();
  context.roundRect(x, y, width, height, Math.max(0, Math.min(radius, width / 2, height / 2)));
}

// Strokes across a box, for what is not known: outcomes of operations, evidence of faults.
function hatch(context, x, y, width, height, gap) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.beginPath();
  const first = Math.floor((x - height) / gap) * gap;
  for (let at = first; at < x + width; at += gap) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

// One operation. ok: filled. fail: an outline, struck through. info: hatched, open at its end.
function drawBar(context, x, y, width, height, outcome, tone) {
  context.fillStyle = tone;
  context.strokeStyle = tone;
  context.lineWidth = 1.4;
  if (outcome === 0) {
    rounded(context, x, y, width, height, 3);
    context.fill();
    return;
  }
  context.save();
  rounded(context, x, y, width, height, outcome === 1 ? 3 : 0);
  context.fillStyle = colour.paper;
  context.fill();
  context.restore();
  if (outcome === 1) {
    rounded(context, x + 0.7, y + 0.7, Math.max(1, width - 1.4), height - 1.4, 3);
    context.stroke();
    context.beginPath();
    const right = x + Math.min(width, height + 2) - 2;
    context.moveTo(x + 2, y + 3);
    context.lineTo(right, y + height - 3);
    context.moveTo(right, y + 3);
    context.lineTo(x + 2, y + height - 3);
    context.stroke();
    return;
  }
  context.lineWidth = 1;
  hatch(context, x, y, width, height, 5);
  context.lineWidth = 1.4;
  context.beginPath();
  context.moveTo(x + width, y + 0.7);
  context.lineTo(x + 0.7, y + 0.7);
  context.lineTo(x + 0.7, y + height - 0.7);
  context.lineTo(x + width, y + height - 0.7);
  context.stroke();
}

function dashed(context, from, to, y, tone, width) {
  context.save();
  context.strokeStyle = tone;
  context.lineWidth = width;
  context.setLineDash([2, 4]);
  context.beginPath();
  context.moveTo(from, y);
  context.lineTo(to, y);
  context.stroke();
  context.restore();
}
