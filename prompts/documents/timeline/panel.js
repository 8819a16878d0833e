// The side: conflicts with their sentences and operations, the chosen operation, faults, legend, notes.
// Everything that comes from the history is set as text, never as markup.

function element(tag, words, parent, attributes = {}) {
  const made = document.createElement(tag);
  if (words !== null) made.textContent = words;
  for (const [word, value] of Object.entries(attributes)) made.setAttribute(word, value);
  if (parent) parent.append(made);
  return made;
}

function say(words) {
  document.getElementById("said").textContent = words;
}

function showPanel() {
  showConflicts();
  showDetail();
}

function showConflicts() {
  const place = document.getElementById("conflicts");
  place.replaceChildren();
  element("h2", given.conflicts.length === 1 ? "conflict" : `conflicts (${given.conflicts.length})`, place);
  if (!given.conflicts.length) element("p", "No checker found a conflict in this history.", place);
  given.conflicts.forEach((conflict, at) => {
    const here = at === view.focus;
    const box = element("div", null, place, { class: here ? "conflict here" : "conflict" });
    const head = element("button", `${conflict.name} `, box, { type: "button", "aria-expanded": String(here) });
    element("span", conflict.checker, head, { class: "by" });
    head.addEventListener("click", () => focusOn(at));
    if (here) showConflict(conflict, element("div", null, box, { class: "why" }));
  });
}

function showConflict(conflict, box) {
  element("p", conflict.sentence, box);
  if (conflict.edges.length) {
    box.append(cycleGraph(conflict));
    const list = element("ul", null, box, { class: "edges" });
    for (const [source, target, kind, words] of conflict.edges) {
      element("li", `${name(source)} —${kind}→ ${name(target)}${words ? `: ${words}` : ""}`, list);
    }
  }
  const list = element("ol", null, box, { class: "operations" });
  conflict.rows.forEach((row, at) => {
    const line = element("button", null, element("li", null, list), { type: "button", "aria-pressed": String(row === view.chosen) });
    element("span", String(at + 1), line, { class: "badge" });
    element("code", label(row), line);
    element("small", `process ${given.processes[column.process[row]]} · ${OUTCOMES[column.outcome[row]]} · ${when(row)}`, line);
    line.addEventListener("click", () => choose(row));
  });
  if (conflict.missing) element("p", `${conflict.missing} of its operations are not in this history`, box);
}

function showDetail() {
  const place = document.getElementById("detail");
  place.replaceChildren();
  place.hidden = view.chosen < 0;
  if (place.hidden) return;
  const row = view.chosen;
  element("h2", `operation ${name(row)}`, place);
  const list = element("dl", null, place);
  const fact = (word, value) => {
    if (value === "" || value === null) return;
    element("dt", word, list);
    element("code", value, element("dd", null, list));
  };
  const unknown = column.outcome[row] === 2 ? " (it may have happened, may still happen, or never)" : "";
  fact("kind", given.kinds[column.kind[row]]);
  fact("key", keysOf(row).map((code) => given.keys[code]).join(", "));
  fact("input", given.input[row] === null ? "" : valueText(given.input[row]));
  fact("output", given.output[row] === null ? "" : valueText(given.output[row]));
  fact("outcome", OUTCOMES[column.outcome[row]] + unknown);
  fact("process", given.processes[column.process[row]]);
  fact("node", given.node[row] < 0 ? "" : given.nodes[given.node[row]]);
  fact("time", when(row));
  fact("took", column.open[row] ? "" : duration(column.end[row] - column.start[row]));
  fact("error", given.error[row] < 0 ? "" : given.errors[given.error[row]]);
  const during = given.faults.filter((fault) => fault.from < column.end[row] && fault.end > column.start[row]);
  if (during.length) fact("during", during.slice(0, 6).map(faultWords).join("; "));
}

function showFaults() {
  const place = document.getElementById("faults");
  if (!given.faults.length) return;
  element("h2", `faults (${given.faults.length})`, place);
  const list = element("ul", null, place, { class: "faults" });
  for (const fault of given.faults.slice(0, 100)) {
    const line = element("button", faultWords(fault), element("li", null, list), { type: "button" });
    const until = fault.until === null ? "never healed on record" : `to ${duration(fault.until)}`;
    element("small", `${duration(fault.from)} ${until} · `, line);
    element("span", LANDED.get(fault.landed), line.lastChild, { class: fault.landed === true ? "proven" : "unproven" });
    if (fault.healFailed) element("small", "HEAL FAILED", line, { class: "unproven" });
    for (const signal of fault.signals.slice(0, 4)) element("small", signal, line);
    line.addEventListener("click", () => {
      const length = Math.max(fault.end - fault.from, SPAN / 1000);
      look(fault.from - length * 0.2, fault.end + length * 0.2);
    });
  }
  if (given.faults.length > 100) element("p", `${given.faults.length - 100} more`, place);
}

function showLegend() {
  const place = document.getElementById("legend");
  place.replaceChildren();
  element("h2", "legend", place);
  const rows = [
    ["ok: it happened", (context) => drawBar(context, 2, 2, 42, 14, 0, colour.ok)],
    ["fail: it did not happen", (context) => drawBar(context, 2, 2, 42, 14, 1, colour.fail)],
    ["info: nobody knows; it may take effect late, or never", (context) => {
      drawBar(context, 2, 2, 22, 14, 2, colour.info);
      dashed(context, 25, 46, 9, colour.info, 1.6);
    }],
    ["part of the conflict", (context) => drawBar(context, 2, 2, 42, 14, 0, colour.lit)],
    ["many operations, one column a pixel: higher is more", (context) => {
      context.fillStyle = colour.ok;
      [3, 6, 5, 9, 13, 11, 7, 8, 12, 6, 4].forEach((tall, at) => context.fillRect(2 + 4 * at, 17 - tall, 3.4, tall));
    }],
  ];
  if (given.faults.length) {
    rows.push(["fault that landed: evidence from both sides", (context) => {
      context.fillStyle = colour.fault;
      rounded(context, 2, 3, 42, 12, 3);
      context.fill();
    }]);
    rows.push(["fault that is not proven to have landed", (context) => {
      context.strokeStyle = colour.fault;
      hatch(context, 2, 3, 42, 12, 6);
      context.setLineDash([4, 3]);
      context.strokeRect(2.5, 3.5, 41, 11);
    }]);
  }
  for (const [words, draw] of rows) {
    const line = element("p", null, place);
    const sample = element("canvas", null, line, { "aria-hidden": "true" });
    line.append(words);
    draw(fit(sample).context);
  }
  if (given.conflicts.some((conflict) => conflict.edges.length)) {
    element("p", "ww: wrote after it. wr: read what it wrote. rw: read what it then overwrote. so: session order. rt: real time.", place);
  }
}

function showNotes() {
  const place = document.getElementById("notes");
  const notes = [...given.notes];
  if (given.clock === "wall") notes.push("Times are of several clocks: between processes they prove no order.");
  if (given.clock === "index") notes.push("Only the order of events is known, not their times.");
  if (notes.length) element("h2", "notes", place);
  for (const note of notes) element("p", note, place);
}
