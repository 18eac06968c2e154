// The explorer: what to compare, two charts and their numbers as a table.
const box = document.getElementById("explorer-box");
if (!box) return;
const at = (name) => document.getElementById(`explorer-${name}`);
const LEVELS = ["dataset", "neighbours", "source", "metric", "first", "second", "delta", "epsilon"];
const COLOURS = {
  "#0072B2": "blue", "#009E73": "green", "#D55E00": "red", "#56B4E9": "sky",
  "#CC79A7": "pink", "#E69F00": "orange", "#8A5F00": "brown",
};
const chosen = {};
let data;
let lines;
let levels;
let turn = 0;

const rowsOf = (columns) => columns[Object.keys(columns)[0]].map((_, k) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[k]])));
const colour = (hex) => `var(--plot-${COLOURS[hex] ?? "grey"})`;
const number = (value) => {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-4 ? value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e") : String(Number(value.toPrecision(4)));
};
/** A measured number with as many digits, zeros at the end included. */
const measured = (value, digits = 4) => {
  const size = Math.abs(value);
  if (size >= 1e7 || (size !== 0 && size < 1e-4)) return value.toExponential(digits - 1).replace("e+", "e");
  return size >= 10 ** digits ? value.toFixed(0) : value.toPrecision(digits);
};
const interval = (low, high, digits) => (low === null ? "" : `[${measured(low, digits)}, ${measured(high, digits)}]`);
const source = () => data.sources[chosen.source];
const metric = () => source().metrics[data.datasets[chosen.dataset]][data.metrics[chosen.metric]];
const setting = (place, value) => {
  const choice = source().choices[place];
  const beforehand = choice?.marked && source().first[data.datasets[chosen.dataset]][place] === value;
  return (choice?.words[value] ?? String(value)) + (beforehand ? " (chosen beforehand)" : "");
};
const inWords = {
  dataset: (k) => data.titles[k],
  neighbours: (k) => data.neighbours[k].words,
  source: (k) => `${data.sources[k].title} (${data.sources[k].called})`,
  metric: (k) => source().metrics[data.datasets[chosen.dataset]][data.metrics[k]].label,
  first: (k) => setting(0, data.firsts[k]),
  second: (k) => setting(1, data.seconds[k]),
  delta: (k) => number(data.deltas[k]),
  epsilon: (k) => number(data.epsilons[k]),
};
const valueOf = (level, k) => ({ delta: data.deltas, epsilon: data.epsilons, first: data.firsts, second: data.seconds })[level][k];

/** Of the places that are there at a level, the one to begin with. */
function preferred(level, places) {
  if (level === "epsilon") {
    const wish = Math.log(chosen.wish ?? 1);
    return [...places].sort((a, b) => Math.abs(Math.log(data.epsilons[a]) - wish) - Math.abs(Math.log(data.epsilons[b]) - wish))[0];
  }
  if (level === "delta") return [...places].sort((a, b) => data.deltas[b] - data.deltas[a])[0];
  if (level === "first" || level === "second") {
    const wish = source().first[data.datasets[chosen.dataset]]?.[level === "first" ? 0 : 1];
    return places.find((place) => valueOf(level, place) === wish) ?? places[0];
  }
  if (level === "metric") {
    const names = Object.keys(source().metrics[data.datasets[chosen.dataset]]);
    return [...places].sort((a, b) => names.indexOf(data.metrics[a]) - names.indexOf(data.metrics[b]))[0];
  }
  return places.includes(data.begin[level]) ? data.begin[level] : places[0];
}

function sorted(level, places) {
  if (level === "dataset") return places.sort((a, b) => data.titles[a].localeCompare(data.titles[b]));
  if (["source", "neighbours", "metric"].includes(level)) return places.sort((a, b) => a - b);
  const size = (place) => Number(valueOf(level, place));
  return places.sort((a, b) => size(a) - size(b) || a - b);
}

/** Offer at each level what the levels before it leave, and keep what was chosen where it is still there. */
function offer() {
  let left = lines;
  for (const level of LEVELS) {
    const places = sorted(level, [...new Set(left.map((line) => line[level]))]);
    if (!places.includes(chosen[level])) chosen[level] = preferred(level, places);
    const control = at(level);
    control.replaceChildren(...places.map((place) => new Option(inWords[level](place), place, false, place === chosen[level])));
    control.disabled = places.length < 2;
    if (level === "first" || level === "second") {
      const choice = source().choices[level === "first" ? 0 : 1];
      control.parentElement.hidden = !choice;
      if (choice) control.parentElement.querySelector("span").textContent = choice.label;
    }
    left = left.filter((line) => line[level] === chosen[level]);
  }
}

const ends = (mean, half, log) => {
  if (mean === null) return { mean: null, low: null, high: null };
  const via = log ? Math.exp : (value) => value;
  return { mean: via(mean), low: half === null ? null : via(mean - half), high: half === null ? null : via(mean + half) };
};

/** The lines that agree with the choice at some levels, in full. */
function select(columns, agreed) {
  const { log } = metric();
  return columns
    .filter((line) => agreed.every((level) => line[level] === chosen[level]))
    .map((line) => ({ ...line, ...ends(line.mean, line.half, log) }))
    .filter((line) => line.arm === undefined || at("every").checked || data.standings[line.standing].real)
    .map((line) => {
      if (line.arm === undefined) return { ...line, ...data.references[line.level] };
      const arm = data.arms[line.arm];
      const standing = data.standings[line.standing];
      const name = arm.armDelta > 0 && arm.armDelta < data.deltas[line.delta] ? `${arm.label}, δ\u00a0=\u00a0${number(arm.armDelta)}` : arm.label;
      return { ...line, arm, standing, name, label: standing.real ? name : `${standing.mark} ${name}`, gaps: ends(line.gap, line.gap_half, log) };
    });
}

function bestFirst(found) {
  const sign = metric().lower ? 1 : -1;
  return found.sort((a, b) => (a.mean === null) - (b.mean === null) || sign * (a.mean - b.mean));
}

// ---- The table and the words
function cell(text, name, order) {
  const made = document.createElement("td");
  made.textContent = text;
  if (name) made.dataset.name = name;
  if (order !== undefined && order !== null) made.dataset.order = String(order);
  return made;
}

function tableRow(line, k, best) {
  const row = document.createElement("tr");
  const head = Object.assign(document.createElement("th"), { scope: "row", textContent: line.name ?? line.label });
  const label = metric().label;
  row.append(head);
  if (line.arm) {
    row.id = `explorer-row-${k + 1}`;
    Object.assign(row.dataset, { mechanism: line.arm.mechanism, variant: line.arm.variant, calibration: line.arm.calibration, delta: line.arm.armDelta, real: line.standing.real });
    const { mean, low, high } = line.gaps;
    const gap = line === best ? "best" : mean === null ? (best && line.mean !== null ? "not paired" : "") : `${!metric().log && mean > 0 ? "+" : ""}${measured(mean, 3)} ${interval(low, high, 3)}`;
    row.append(cell(`${line.standing.mark} ${line.standing.words}`, "guarantee"));
    row.append(cell(line.mean === null ? (line.failed ? "no converged fit" : "no value here") : measured(line.mean), label, line.mean), cell(interval(line.low, line.high), "95 % interval"));
    row.append(cell(gap, metric().log ? "times the best" : "against the best", mean));
  } else {
    row.className = "level";
    row.append(cell("– none: a reference", "guarantee"), cell(measured(line.mean), label, line.mean), cell(interval(line.low, line.high), "95 % interval"), cell("", ""));
  }
  row.append(cell(line.failed ? `${line.n} (${line.failed} failed)` : String(line.n ?? ""), "n", line.n));
  return row;
}

const bold = (text) => Object.assign(document.createElement("b"), { textContent: text });

function say(found, references, best) {
  const words = `ε = ${inWords.epsilon(chosen.epsilon)}, δ = ${inWords.delta(chosen.delta)}`;
  const summary = at("summary");
  summary.replaceChildren(`${data.titles[chosen.dataset]}, ${words}, ${inWords.neighbours(chosen.neighbours)}: `);
  if (!best) summary.append(found.some((line) => line.standing.real) ? "no method whose guarantee holds has a value here." : "no method here has a guarantee that holds.");
  else {
    summary.append("of the methods whose guarantee holds, best is ", bold(best.name), `, ${measured(best.mean)} ${interval(best.low, best.high)}`);
    const rivals = found.filter((line) => line !== best && line.standing.real && line.mean !== null);
    const tied = rivals.filter((line) => line.gap_half === null || Math.abs(line.gap) <= line.gap_half);
    // A method may stand there with several deltas.
    const names = new Set(tied.map((line) => line.arm.label).filter((label) => label !== best.arm.label));
    if (rivals.length) summary.append(names.size ? `; not told apart from it: ${[...names].join("; ")}` : "; all others are told apart from it");
    const beaten = references.filter((level) => level.trivial && (metric().lower ? best.mean >= level.mean : best.mean <= level.mean));
    summary.append(beaten.length ? `. It does no better than what looks at no feature (${beaten.map((level) => level.label).join(", ")}). ` : ". ", references.map((level) => `${level.label[0].toUpperCase()}${level.label.slice(1)}: ${measured(level.mean)}.`).join(" "));
  }
  const warning = source().warnings[data.datasets[chosen.dataset]];
  at("warning").hidden = !warning;
  at("warning").textContent = warning ? `${data.titles[chosen.dataset]}: ${warning}.` : "";
  const facts = [["a repeat is one of", source().unit], ["fixed beforehand", source().fixed], ["taken as public", source().public], ["rows", `results/…/${source().key}/rows.parquet`]];
  const code = best?.arm.code.replaceAll("{epsilon}", data.epsilons[chosen.epsilon]).replaceAll("{delta}", best.arm.armDelta).replaceAll("{neighbours}", data.neighbours[chosen.neighbours].key);
  if (code) facts.unshift(["the best, to copy", code]);
  at("facts").replaceChildren(...facts.flatMap(([name, text]) => [Object.assign(document.createElement("dt"), { textContent: name }), Object.assign(document.createElement("dd"), { textContent: text })]));
  at("caption").textContent = `${data.titles[chosen.dataset]}: ${metric().label}, ${words}, neighbours: ${inWords.neighbours(chosen.neighbours)} (${source().called})`;
}

function tabulate(found, references, best) {
  const table = at("table");
  Object.assign(table.dataset, {
    source: source().key, dataset: data.datasets[chosen.dataset], metric: data.metrics[chosen.metric], neighbours: data.neighbours[chosen.neighbours].key,
    first: data.firsts[chosen.first], second: data.seconds[chosen.second], epsilon: data.epsilons[chosen.epsilon], delta: data.deltas[chosen.delta], every: at("every").checked,
  });
  at("mean").textContent = metric().label;
  at("gap").textContent = metric().log ? "times the best" : "against the best";
  table.tBodies[0].replaceChildren(...[...found, ...references].map((line, k) => tableRow(line, k, best)));
}

// ---- The charts. Colours are the page's variables, so that they follow the theme, and paper, by themselves.
const CONFIG = {
  aria: false,
  background: "transparent",
  font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
  view: { stroke: null },
  axis: { labelColor: "var(--ink)", titleColor: "var(--soft)", gridColor: "var(--line)", domainColor: "var(--control)", tickColor: "var(--control)", labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
  legend: { labelColor: "var(--ink)", titleColor: "var(--soft)", labelFontSize: 12, symbolSize: 90, symbolStrokeWidth: 2 },
};
const DASHES = { full: [1, 0], stricter: [1, 2.5], none: [5, 3] };
const REFERENCE_DASHES = [[2, 3], [7, 3, 2, 3]];

/** A number of characters fits beside the chart: a long name takes several lines. */
function wrapped(text, width) {
  const parts = [""];
  for (const word of text.split(" ")) {
    const last = parts[parts.length - 1];
    if (last && last.length + word.length >= width) parts.push(word);
    else parts[parts.length - 1] = last ? `${last} ${word}` : word;
  }
  return parts.join("\n");
}

/** A logarithmic scale for what spans more than a decade and a half, and clipped ends for it. */
function scaleOf(values) {
  const known = values.flatMap((line) => [line.mean, line.high]).filter((value) => value !== null);
  const low = Math.min(...known);
  const log = low > 0 && Math.max(...known) / low > 30;
  const powers = [];
  for (let k = Math.floor(Math.log10(low)); log && k <= Math.ceil(Math.log10(Math.max(...known))); k++) powers.push(10 ** k);
  return { type: log ? "log" : "linear", least: log ? low / 2 : -Infinity, ticks: log ? { values: powers } : {} };
}

/** Methods at a smaller delta than the chosen one are paler and dotted. Hollow means no proof. */
const stricter = (line) => line.arm && line.arm.armDelta < data.deltas[chosen.delta];
const shade = (line) => (stricter(line) ? `color-mix(in srgb, ${colour(line.arm.colour)} 65%, var(--paper))` : colour(line.arm.colour));
const plain = (line, least) => ({
  label: line.label,
  mean: line.mean,
  low: line.low === null ? line.mean : Math.max(line.low, least),
  high: line.high === null ? line.mean : line.high,
  colour: line.arm ? shade(line) : "var(--plot-grey)",
  fill: !line.arm ? "var(--plot-grey)" : line.standing.real ? shade(line) : "var(--paper)",
  shape: line.arm?.shape ?? "stroke",
  dash: line.standing?.real === false ? "none" : stricter(line) ? "stricter" : "full",
  mean_and_interval: `${line.mean === null ? "" : measured(line.mean)} ${interval(line.low, line.high)}`,
  n: line.n,
  guarantee: line.standing ? `${line.standing.mark} ${line.standing.words}` : "a reference without privacy",
});
const TOOLTIP = [
  { field: "label", title: "method" }, { field: "mean_and_interval", title: "mean, 95 % interval" }, { field: "n" }, { field: "guarantee" },
];

function dots(found, references, width) {
  const scale = scaleOf([...found, ...references]);
  const narrow = width < 480;
  const values = [...found, ...references].filter((line) => line.mean !== null).map((line) => {
    const point = plain(line, scale.least);
    return { ...point, label: wrapped(point.label, narrow ? 17 : 34) };
  });
  const y = { field: "label", type: "nominal", sort: values.map((value) => value.label), title: null, axis: { labelExpr: "split(datum.label, '\\n')", labelLimit: narrow ? 180 : 260, ticks: false, domain: false, grid: true } };
  const x = { type: "quantitative", title: metric().label + (scale.type === "log" ? " (log scale)" : ""), scale: { type: scale.type, nice: true, padding: 10, ...(scale.type === "linear" && { zero: false }) }, axis: { tickCount: narrow ? 4 : 6, format: "~g", labelOverlap: true, ...scale.ticks } };
  const own = (name) => ({ field: name, type: "nominal", scale: null });
  const lines = Math.max(1, ...values.map((value) => value.label.split("\n").length));
  return {
    data: { values },
    height: values.length * (lines > 2 ? 48 : lines > 1 ? 36 : 26),
    encoding: { y },
    layer: [
      ...references.map((level, k) => ({ data: { values: [{ mean: level.mean }] }, mark: { type: "rule", color: "var(--plot-grey)", strokeDash: REFERENCE_DASHES[k % 2] }, encoding: { x: { ...x, field: "mean" }, y: null } })),
      { mark: { type: "rule", strokeWidth: 2.5 }, encoding: { x: { ...x, field: "low" }, x2: { field: "high" }, color: own("colour"), strokeDash: { field: "dash", type: "nominal", legend: null, scale: { domain: Object.keys(DASHES), range: Object.values(DASHES) } }, tooltip: TOOLTIP } },
      { mark: { type: "point", size: 95, strokeWidth: 2, opacity: 1 }, encoding: { x: { ...x, field: "mean" }, stroke: own("colour"), fill: own("fill"), shape: own("shape"), tooltip: TOOLTIP } },
    ],
  };
}

/** An axis that holds all means with some air. Few repeats have intervals so wide that with them no line could be told from another. */
function aroundMeans(values, log) {
  const means = values.map((value) => value.mean);
  if (!means.length) return [0, 1];
  const [low, high] = [Math.min(...means), Math.max(...means)];
  if (log) return [low / 1.3, high * 1.3];
  const air = 0.15 * (high - low) || 0.1;
  return [low - air, high + air];
}

/** Of a method at several deltas the line of the largest, and that of 0: more would hide each other. */
function withoutCopies(found, over) {
  const method = (line) => JSON.stringify([line.arm.mechanism, line.arm.variant, line.arm.calibration, line.arm.target, line[over]]);
  const largest = new Map();
  for (const line of found) largest.set(method(line), Math.max(largest.get(method(line)) ?? 0, line.arm.armDelta));
  return found.filter((line) => line.arm.armDelta === 0 || line.arm.armDelta === largest.get(method(line)));
}

function curves(every, references, over, width) {
  const found = withoutCopies(every, over);
  const scale = scaleOf([...found, ...references]);
  const narrow = width < 480;
  const xOf = (line) => Number(valueOf(over, line[over]));
  const values = found.filter((line) => line.mean !== null).map((line) => ({ ...plain(line, scale.least), x: xOf(line) })).sort((a, b) => a.x - b.x);
  const levelled = references.map((line) => ({ ...plain(line, scale.least), x: xOf(line) })).sort((a, b) => a.x - b.x);
  const labels = [...new Map(values.map((value) => [value.label, value])).values()];
  const names = [...new Set(levelled.map((value) => value.label))];
  const ticks = [...new Set(values.map((value) => value.x))].sort((a, b) => a - b);
  const title = over === "epsilon" ? "ε" : source().choices[over === "first" ? 0 : 1].label;
  const x = { field: "x", type: "quantitative", title, scale: { type: "log", nice: false, padding: 12 }, axis: { values: ticks, grid: false, labelExpr: "format(datum.value, ',.3~r')", labelOverlap: "greedy" } };
  const domainOfMeans = aroundMeans([...values, ...levelled], scale.type === "log");
  const y = { type: "quantitative", title: metric().label + (scale.type === "log" ? " (log scale)" : ""), scale: { type: scale.type, domain: domainOfMeans, nice: false }, axis: { tickCount: 5, format: "~g", labelOverlap: true, ...scale.ticks } };
  const legend = { orient: "bottom", columns: narrow ? 1 : 2, title: null, labelLimit: narrow ? 280 : 260, symbolOpacity: 1, symbolType: "circle" };
  const domain = labels.map((value) => value.label);
  const by = (range, more) => ({ field: "label", type: "nominal", sort: null, scale: { domain, range }, ...more });
  const stroke = by(labels.map((value) => value.colour), { legend });
  const dash = by(labels.map((value) => DASHES[value.dash]), { legend });
  return {
    data: { values },
    height: narrow ? 230 : 300,
    layer: [
      { data: { values: [{ x: Number(valueOf(over, chosen[over])) }] }, mark: { type: "rule", color: "var(--line)", strokeWidth: 9 }, encoding: { x } },
      ...names.map((name, k) => ({ data: { values: levelled.filter((value) => value.label === name) }, layer: [
        { mark: { type: "line", color: "var(--plot-grey)", strokeDash: REFERENCE_DASHES[k % 2] }, encoding: { x, y: { ...y, field: "mean" } } },
        { transform: [{ filter: `datum.x === ${ticks[0]}` }], mark: { type: "text", align: "left", baseline: k ? "top" : "bottom", dy: k ? 4 : -3, color: "var(--soft)", fontSize: 11 }, encoding: { x, y: { ...y, field: "mean" }, text: { field: "label" } } },
      ] })),
      { mark: { type: "area", opacity: 0.16, clip: true }, encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" }, color: { field: "colour", type: "nominal", scale: null }, detail: { field: "label" } } },
      { mark: { type: "line", strokeWidth: 2 }, encoding: { x, y: { ...y, field: "mean" }, stroke, strokeDash: dash } },
      { mark: { type: "point", size: 70, strokeWidth: 2, opacity: 1 }, encoding: { x, y: { ...y, field: "mean" }, stroke, shape: by(labels.map((value) => value.shape), { legend }), fill: by(labels.map((value) => value.fill), { legend }), tooltip: TOOLTIP } },
    ],
  };
}

async function draw(element, spec, label) {
  const embed = await dperm.library("vega");
  // The chart as a whole is an image, whose numbers stand in the table; what Vega says of its parts says nothing more.
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", label);
  const inner = document.createElement("div");
  const full = { width: element.clientWidth, autosize: { type: "fit-x", contains: "padding" }, config: CONFIG, ...spec };
  await embed(inner, full, { mode: "vega-lite", actions: false, renderer: "svg", ast: true, logLevel: 1, tooltip: { theme: "custom" } });
  inner.setAttribute("aria-hidden", "true");
  element.replaceChildren(inner);
}

/** What the second chart may run over: epsilon, or a setting that is a number, where there are two values or more. */
function overs() {
  const names = { epsilon: "ε", first: source().choices[0]?.label, second: source().choices[1]?.label };
  const found = Object.entries(names).filter(([level, name]) => {
    if (!name) return false;
    const own = select(lines, LEVELS.filter((other) => other !== level));
    const places = new Set(own.map((line) => line[level]));
    return places.size > 1 && [...places].every((place) => Number(valueOf(level, place)) > 0);
  });
  const control = at("over");
  const wanted = found.some(([level]) => level === chosen.over) ? chosen.over : found[0]?.[0];
  control.replaceChildren(...found.map(([level, name]) => new Option(name, level, false, level === wanted)));
  control.disabled = found.length < 2;
  at("over-word").textContent = names[wanted] ?? "";
  return wanted;
}

async function show() {
  const mine = ++turn;
  offer();
  const found = bestFirst(select(lines, LEVELS));
  const references = select(levels, LEVELS);
  // The gaps of the others are to it, so that it has none of its own.
  const best = found.find((line) => line.standing.real && line.mean !== null && line.gap === null);
  say(found, references, best);
  tabulate(found, references, best);
  const over = overs();
  const others = LEVELS.filter((level) => level !== over);
  const label = `${at("caption").textContent}. The numbers stand in the table below.`;
  const first = at("chart");
  await draw(first, dots(found, references, first.clientWidth), label);
  if (mine !== turn) return;
  const second = at("lines");
  if (over) await draw(second, curves(bestFirst(select(lines, others)), select(levels, others), over, second.clientWidth), `The same over ${at("over").selectedOptions[0].textContent}.`);
  else second.replaceChildren("Only one value was run here.");
  box.dataset.shown = String(mine);
}

/** What is chosen, as an address keeps it: by values, for places in lists change from run to run. */
const keys = { dataset: (k) => data.datasets[k], neighbours: (k) => data.neighbours[k].key, source: (k) => data.sources[k].key, metric: (k) => data.metrics[k] };
const keyOf = (level, k) => String((keys[level] ?? ((place) => valueOf(level, place)))(k));
function keep() {
  const words = LEVELS.filter((level) => !["first", "second"].includes(level) || !at(level).parentElement.hidden);
  const said = Object.fromEntries(words.map((level) => [level, keyOf(level, chosen[level])]));
  window.dperm.say("explorer", { ...said, every: at("every").checked ? "yes" : "" });
}

/** Choose what an address says; what it says of things that are not here is passed over. */
function take(words) {
  at("every").checked = words.get("every") === "yes";
  for (const level of LEVELS) {
    const place = [...new Set(lines.map((line) => line[level]))].find((k) => keyOf(level, k) === words.get(level));
    if (place !== undefined) chosen[level] = place;
  }
  show();
}

async function start() {
  data = JSON.parse(await dperm.unpack("explorer"));
  lines = rowsOf(data.lines);
  levels = rowsOf(data.levels);
  Object.assign(chosen, data.begin);
  for (const level of LEVELS) {
    at(level).addEventListener("change", (event) => {
      chosen[level] = Number(event.target.value);
      if (level === "epsilon") chosen.wish = data.epsilons[chosen.epsilon];
      show().then(keep);
    });
  }
  at("every").addEventListener("change", () => show().then(keep));
  window.dperm.takes("explorer", take);
  at("over").addEventListener("change", (event) => {
    chosen.over = event.target.value;
    show();
  });
  at("dataset").form.addEventListener("submit", (event) => event.preventDefault());
  let width = box.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(box.clientWidth - width) < 20) return;
    width = box.clientWidth;
    show();
  }).observe(box);
  await show();
}

dperm.wait(start());
