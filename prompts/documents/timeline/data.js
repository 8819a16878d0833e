// The history as typed columns, and what is asked of them: text, keys, rows of the picture.

const given = JSON.parse(document.getElementById("data").textContent);
const COUNT = given.process.length;
const OUTCOMES = ["ok", "fail", "info"];
const SPAN = Math.max(1, given.span);

const column = {
  process: Int32Array.from(given.process),
  kind: Int32Array.from(given.kind),
  outcome: Uint8Array.from(given.outcome),
  start: new Float64Array(COUNT),
  end: new Float64Array(COUNT), // where the client was answered or gave up, else where its bar gives room to the next
  open: new Uint8Array(COUNT), // 1: no completion was recorded
};
{
  let time = 0;
  for (let row = 0; row < COUNT; row += 1) {
    time += given.start[row];
    column.start[row] = time;
    column.open[row] = given.length[row] < 0 ? 1 : 0;
    column.end[row] = given.length[row] < 0 ? SPAN : time + given.length[row];
  }
}

const litAnywhere = new Uint8Array(COUNT);
for (const conflict of given.conflicts) for (const row of conflict.rows) litAnywhere[row] = 1;

function indexOf(row) {
  return given.index === null ? row : given.index[row];
}

function keysOf(row) {
  const key = given.key[row];
  if (typeof key === "number") return key < 0 ? [] : [key];
  return key;
}

function isTransaction(row) {
  return typeof given.key[row] !== "number";
}

function valueText(value) {
  return value === null ? "" : String(value);
}

// The operation in one line: "read x → 3", "write x 3", "r x → [1] · append y 2".
function label(row) {
  const asked = valueText(given.input[row]);
  const answered = valueText(given.output[row]);
  if (isTransaction(row)) return answered || asked;
  const key = keysOf(row).map((code) => given.keys[code]).join(", ");
  const words = [given.kinds[column.kind[row]], key, asked].filter(Boolean).join(" ");
  if (answered !== "") return `${words} → ${answered}`;
  const silentRead = asked === "" && column.outcome[row] === 0 && /^(r|read|get|dequeue)$/.test(given.kinds[column.kind[row]]);
  return silentRead ? `${words} → nil` : words;
}

function name(row) {
  return `${isTransaction(row) ? "T" : "#"}${indexOf(row)}`;
}

function duration(ns, digits = 4) {
  if (given.clock === "index") return String(Math.round(ns));
  const size = Math.abs(ns);
  for (const [unit, one] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (size >= one) return `${Number((ns / one).toPrecision(digits))} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}

function when(row) {
  const from = duration(column.start[row], 6);
  if (column.open[row]) return `from ${from}, never answered`;
  return given.clock === "index" ? `${from} to ${duration(column.end[row])}` : `at ${from} for ${duration(column.end[row] - column.start[row])}`;
}

const searchText = [];
function textOf(row) {
  if (searchText[row] === undefined) {
    const error = given.error[row] < 0 ? "" : given.errors[given.error[row]];
    searchText[row] = `${name(row)} ${label(row)} ${valueText(given.input[row])} ${error}`.toLowerCase();
  }
  return searchText[row];
}

// A test for a row from what a person typed: words, all of which must be there, and field:value.
function matcher(typed) {
  const tests = typed.toLowerCase().split(/\s+/).filter(Boolean).map((term) => {
    const colon = term.indexOf(":");
    const field = term.slice(0, colon);
    const wanted = term.slice(colon + 1);
    if (field === "key") return (row) => keysOf(row).some((code) => given.keys[code].toLowerCase() === wanted);
    if (field === "process") return (row) => given.processes[column.process[row]].toLowerCase() === wanted;
    if (field === "node") return (row) => given.node[row] >= 0 && given.nodes[given.node[row]].toLowerCase() === wanted;
    if (field === "kind") return (row) => given.kinds[column.kind[row]].toLowerCase() === wanted;
    if (field === "outcome") return (row) => OUTCOMES[column.outcome[row]] === wanted;
    return (row) => textOf(row).includes(term);
  });
  return tests.length ? (row) => tests.every((test) => test(row)) : null;
}

// The rows of the picture: one for each process, in order of name, with further ones below where
// operations of a process overlap. `rows` is sorted by start; `reach[i]` is the latest end up to i;
// `tail` is where the first unknown outcome leaves its bar: it may take effect at any time from there on.
function lanesOf(shows) {
  const byProcess = new Map();
  for (let row = 0; row < COUNT; row += 1) {
    if (!shows(row)) continue;
    const process = column.process[row];
    if (!byProcess.has(process)) byProcess.set(process, [{ rows: [], free: 0 }]);
    const lanes = byProcess.get(process);
    let lane = lanes.find((one) => one.free <= column.start[row]);
    if (lane === undefined) {
      lane = lanes.length < 8 ? { rows: [], free: 0 } : lanes[lanes.length - 1];
      if (lane !== lanes[lanes.length - 1]) lanes.push(lane);
    }
    lane.rows.push(row);
    // One that was never answered takes no room from what its process did next; its tail goes on.
    lane.free = column.open[row] ? lane.free : Math.max(lane.free, column.end[row]);
  }
  const order = [...byProcess.keys()].sort((a, b) => {
    const [one, two] = [given.processes[a], given.processes[b]];
    return one.localeCompare(two, "en", { numeric: true });
  });
  return order.flatMap((process) => byProcess.get(process).map((lane, place) => {
    const reach = new Float64Array(lane.rows.length);
    let [latest, tail] = [0, Infinity];
    lane.rows.forEach((row, at) => {
      if (column.open[row]) column.end[row] = at + 1 < lane.rows.length ? column.start[lane.rows[at + 1]] : SPAN;
      if (column.outcome[row] === 2) tail = Math.min(tail, column.end[row]);
      reach[at] = latest = Math.max(latest, column.end[row]);
    });
    return { process, first: place === 0, rows: Int32Array.from(lane.rows), reach, tail };
  }));
}

// The first place in a sorted array whose value is at least `wanted`.
function lowerBound(length, at, wanted) {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(middle) < wanted) low = middle + 1; else high = middle;
  }
  return low;
}

// Places [from, to) of a lane's rows that may be seen between two times.
function visible(lane, from, to) {
  const first = lowerBound(lane.rows.length, (at) => lane.reach[at], from);
  const last = lowerBound(lane.rows.length, (at) => column.start[lane.rows[at]], to);
  return [Math.min(first, last), last];
}
