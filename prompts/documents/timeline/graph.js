// A cycle as a small graph: transactions as nodes on a circle, typed edges with arrows.

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes, parent) {
  const element = document.createElementNS(SVG, tag);
  for (const [word, value] of Object.entries(attributes)) element.setAttribute(word, String(value));
  parent.append(element);
  return element;
}

function cycleGraph(conflict) {
  const nodes = [...new Set(conflict.edges.flatMap(([source, target]) => [source, target]))];
  const [width, height] = [340, nodes.length === 2 ? 150 : Math.min(330, 190 + 18 * nodes.length)];
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("class", "cycle");
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", `cycle: ${conflict.edges.map(([a, b, kind]) => `${name(a)} ${kind} ${name(b)}`).join(", ")}`);
  const marker = svg("marker", { id: `head${given.conflicts.indexOf(conflict)}`, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, svg("defs", {}, picture));
  svg("path", { class: "head", d: "M0 0L10 5L0 10z" }, marker);
  const radius = 24;
  const places = new Map(nodes.map((row, at) => {
    const angle = nodes.length === 2 ? Math.PI + at * Math.PI : -Math.PI / 2 + (at * 2 * Math.PI) / nodes.length;
    const [wide, tall] = [width / 2 - 46, nodes.length === 2 ? 0 : height / 2 - 34];
    return [row, { x: width / 2 + wide * Math.cos(angle), y: height / 2 + tall * Math.sin(angle) }];
  }));
  const seen = new Map();
  for (const [source, target, kind] of conflict.edges) {
    const [a, b] = [places.get(source), places.get(target)];
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const normal = { x: -(b.y - a.y) / length, y: (b.x - a.x) / length };
    const pair = `${Math.min(source, target)}-${Math.max(source, target)}`;
    const again = seen.get(pair) || 0;
    seen.set(pair, again + 1);
    // Edges of one pair bow to their own side each; on a larger circle all bow outwards a little.
    const bow = nodes.length === 2 ? 46 + 24 * Math.floor(again / 2) : 16 + 22 * again;
    const side = nodes.length === 2 ? 1 : -1;
    const middle = { x: (a.x + b.x) / 2 + side * normal.x * bow, y: (a.y + b.y) / 2 + side * normal.y * bow };
    const start = towards(a, middle, radius + 2);
    const end = towards(b, middle, radius + 4);
    const edge = svg("g", { class: `edge ${/^[a-z]+$/.test(kind) ? kind : "other"}` }, picture);
    svg("path", { d: `M${start.x} ${start.y}Q${middle.x} ${middle.y} ${end.x} ${end.y}`, "marker-end": `url(#${marker.id})` }, edge);
    const at = { x: (start.x + 2 * middle.x + end.x) / 4, y: (start.y + 2 * middle.y + end.y) / 4 };
    svg("rect", { x: at.x - 4 - 4 * kind.length, y: at.y - 9, width: 8 + 8 * kind.length, height: 18, rx: 4 }, edge);
    svg("text", { x: at.x, y: at.y + 4 }, edge).textContent = kind;
  }
  for (const [row, { x: cx, y: cy }] of places) {
    const node = svg("g", { class: "node" }, picture);
    svg("circle", { cx, cy, r: radius }, node);
    svg("text", { x: cx, y: cy + 4 }, node).textContent = name(row);
    node.addEventListener("click", () => choose(row));
  }
  return picture;
}

function towards(from, to, by) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return { x: from.x + ((to.x - from.x) * by) / length, y: from.y + ((to.y - from.y) * by) / length };
}
