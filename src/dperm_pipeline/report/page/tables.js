// Tables by DataTables, the same for every section: dperm.table, dperm.filter, dperm.openRow.
const tables = new Map();
const number = (text) =>
  text === "" || text === "nan" ? null : text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text);
const ascending = (a, b) => (a === null) - (b === null) || a - b || 0;

function prepare(DataTable) {
  if (DataTable.ext.type.order["exact-pre"]) return;
  // Numbers by what data-order holds; what does not exist comes last in both directions.
  DataTable.ext.type.order["exact-pre"] = number;
  DataTable.ext.type.order["exact-asc"] = ascending;
  DataTable.ext.type.order["exact-desc"] = (a, b) => (a === null || b === null ? ascending(a, b) : ascending(b, a));
}

/** Columns whose cells say their value in data-order. */
function exactColumns(element, count) {
  const rows = [...element.tBodies[0].rows];
  return [...Array(count).keys()].filter((k) => {
    const cells = rows.map((row) => row.cells[k]).filter(Boolean);
    if (!cells.some((cell) => cell.dataset.order !== undefined)) return false;
    // DataTables looks at the first row alone to learn where values stand.
    for (const cell of cells) cell.dataset.order ??= cell.textContent.trim();
    return cells.every((cell) => !Number.isNaN(number(cell.dataset.order) ?? 0));
  });
}

function labelled(words, control) {
  const label = document.createElement("label");
  label.append(`${words} `, control);
  return label;
}

function select(options, chosen) {
  const control = document.createElement("select");
  for (const [value, words] of options) control.add(new Option(words, value, false, value === chosen));
  return control;
}

/** The value that a filter looks at: data-KEY of the row, or data-filter or the text of the cell in that column. */
function valueOf(row, key, cells) {
  if (!/^\d+$/.test(key)) return row.dataset[key] ?? "";
  const cell = cells[Number(key)];
  return cell.dataset.filter ?? cell.textContent.trim();
}

function makeFilters(rows, filters, apply) {
  const controls = {};
  for (const [key, { label, words = {}, chosen = "" }] of Object.entries(filters)) {
    const counts = new Map();
    for (const row of rows) {
      const value = valueOf(row, key, row.cells);
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const values = [...counts.keys()].filter((value) => value !== "").sort();
    const options = values.map((value) => [value, `${words[value] ?? value} (${counts.get(value)})`]);
    const control = select([["", "all"], ...options], chosen);
    control.dataset.filter = key;
    control.addEventListener("change", apply);
    controls[key] = control;
  }
  return controls;
}

function sortControl(api, element, count, hidden) {
  const names = [...element.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const options = [["", "as listed"]];
  api.columns().every(function () {
    const k = this.index();
    if (k >= count || k === hidden) return;
    const name = this.title ? this.title() : names[k];
    options.push([`${k} asc`, `${name}, up`], [`${k} desc`, `${name}, down`]);
  });
  const control = select(options, "");
  control.addEventListener("change", () => {
    const [column, direction] = control.value.split(" ");
    api.order(column === "" ? [] : [[Number(column), direction]]).draw();
  });
  const label = labelled("sort by", control);
  label.className = "sort";
  return label;
}

/** Move the details of a row into the line below it, or take them away. */
function toggle(api, row, open) {
  const button = row.node().querySelector("button.open");
  const shown = row.child.isShown();
  if (shown === open) return;
  if (!open) row.child.hide();
  else {
    if (!row.child()) {
      const box = document.createElement("div");
      box.className = "details";
      box.id = `${row.node().id}-details`;
      const cell = api.cell(row.index(), api.columns().count() - 1).node();
      box.append(...cell.childNodes, Object.assign(document.createElement("a"), { href: `#${row.node().id}`, className: "permalink", textContent: "link to this line" }));
      row.child(box, "details-row");
    }
    row.child.show();
    const line = row.child()[0];
    line.dispatchEvent(new CustomEvent("dperm:open", { bubbles: true, detail: { row: row.node() } }));
  }
  button?.setAttribute("aria-expanded", String(open));
  row.node().classList.toggle("opened", open);
}

/** Let what may scroll sideways be reached by the tab key, under the table's own name. */
function scrollable(box, element) {
  if (!box || box.hasAttribute("tabindex")) return;
  const heading = document.getElementById(element.getAttribute("aria-labelledby"));
  box.tabIndex = 0;
  box.role = "region";
  box.ariaLabel = (heading ?? element.caption)?.textContent.trim() ?? "table";
}

/** Make a plain table searchable, sortable and paged. Returns a promise of DataTables' API. */
async function table(element, { filters = {}, pageLength = 25, order = [], ...others } = {}) {
  const DataTable = await window.dperm.library("datatables");
  prepare(DataTable);
  const rows = [...element.tBodies[0].rows];
  const detailed = rows.some((row) => row.cells[row.cells.length - 1]?.matches("td.more"));
  const head = element.tHead.rows[0];
  const count = rows.length ? rows[0].cells.length : head.cells.length;
  if (detailed && head.cells.length < count) head.append(Object.assign(document.createElement("th"), { textContent: "details" }));
  const hidden = detailed ? count - 1 : -1;
  const values = new Map(rows.map((row) => [row, Object.keys(filters).map((key) => valueOf(row, key, row.cells))]));
  const name = element.id || head.textContent.trim();
  let api;
  const apply = () => {
    api?.draw();
    keep();
  };
  /** The address says what is filtered and searched, so that it can be passed on. */
  const keep = () => {
    const chosen = Object.fromEntries(Object.entries(controls).map(([key, control]) => [key, control.value]));
    if (element.id) window.dperm.say(element.id, { ...chosen, search: api.search() });
  };
  const controls = makeFilters(rows, filters, apply);
  const bar = document.createElement("div");
  bar.className = "filters";
  for (const [key, control] of Object.entries(controls)) bar.append(labelled(filters[key].label, control));
  const clear = Object.assign(document.createElement("button"), { type: "button", textContent: "show all", className: "clear" });
  if (Object.keys(filters).length) bar.append(clear);
  const definitions = [{ targets: exactColumns(element, detailed ? count - 1 : count), type: "exact" }];
  if (detailed) definitions.push({ targets: [hidden], visible: false, orderable: false });
  const few = rows.length <= pageLength;
  const line = element.closest(".scroll");
  api = new DataTable(element, {
    autoWidth: false,
    columnDefs: definitions,
    language: {
      search: "search ",
      lengthMenu: "rows on a page _MENU_",
      lengthLabels: { "-1": "all" },
      info: "_START_ to _END_ of _TOTAL_ rows",
      infoEmpty: "no rows",
      infoFiltered: "(of _MAX_)",
      zeroRecords: "No row fits this search.",
    },
    layout: {
      topStart: Object.keys(filters).length ? () => bar : null,
      topEnd: "search",
      bottomStart: few ? "info" : ["info", "pageLength"],
      bottomEnd: few ? null : "paging",
    },
    lengthMenu: [25, 50, 100, -1],
    order,
    orderMulti: true,
    pageLength,
    ...others,
  });
  const container = api.table().container();
  // The sideways scroll belongs to the table, not to its controls.
  if (line) {
    line.classList.add("enhanced");
    for (const attribute of ["tabindex", "role", "aria-label", "aria-labelledby"]) line.removeAttribute(attribute);
    scrollable(element.closest(".dt-layout-cell"), element);
  }
  container.querySelector(".dt-search")?.before(sortControl(api, element, count, hidden));
  api.search.fixed("filters", (text, data, index) => {
    const has = values.get(api.row(index).node());
    return Object.values(controls).every((control, k) => control.value === "" || control.value === has[k]);
  });
  const reset = () => {
    for (const control of Object.values(controls)) control.value = "";
    api.search("");
  };
  clear.addEventListener("click", () => {
    reset();
    apply();
  });
  container.querySelector(".dt-search input")?.addEventListener("input", () => setTimeout(keep));
  if (Object.values(controls).some((control) => control.value)) api.draw();
  if (detailed) {
    element.tBodies[0].addEventListener("click", (event) => {
      const own = event.target.closest("tr");
      if (!own || !own.id || own.parentElement !== element.tBodies[0] || !own.matches(":has(button.open)")) return;
      if (event.target.closest("a, button:not(.open), input, select") || String(window.getSelection())) return;
      const row = api.row(own);
      toggle(api, row, !row.child.isShown());
      window.dperm.say(own.id);
    });
  }
  tables.set(name, { api, controls, detailed, reset });
  window.dperm.takes(name, (words) => filter(name, Object.fromEntries(words)));
  element.dataset.enhanced = "true";
  return api;
}

/** Set a table's filters: filter("claims-table", {verdict: "not reproduced"}); the others are cleared. */
function filter(name, { search = "", ...chosen }) {
  const { api, controls, reset } = tables.get(name);
  reset();
  for (const [key, value] of Object.entries(chosen)) if (controls[key]) controls[key].value = value;
  api.search(search).draw();
}

/** Go to the row with this id, on whichever page of whichever table it is, and open it. */
function openRow(id) {
  for (const { api, detailed, reset } of tables.values()) {
    const row = api.row((index, data, node) => node?.id === id);
    if (!row.any()) continue;
    const shown = () => api.rows({ order: "current", search: "applied" }).indexes().indexOf(row.index());
    if (shown() < 0) {
      reset();
      api.draw();
    }
    const length = api.page.len();
    if (length > 0) api.page(Math.floor(shown() / length)).draw("page");
    if (detailed) toggle(api, row, true);
    row.node().scrollIntoView({ block: "start" });
    row.node().querySelector("button.open")?.focus({ preventScroll: true });
    return true;
  }
  return false;
}

// ---- Print: every row, on paper's colours
let lengths = null;
let folded = [];
function beforePrint() {
  if (lengths) return;
  lengths = new Map();
  for (const { api } of tables.values()) {
    lengths.set(api, [api.page.len(), api.page()]);
    api.page.len(-1).draw();
  }
  // What is folded away is not on paper.
  folded = [...document.querySelectorAll("details.rules:not([open])")];
  for (const fold of folded) fold.open = true;
}
function afterPrint() {
  for (const [api, [length, page]] of lengths ?? []) api.page.len(length).page(page).draw("page");
  for (const fold of folded) fold.open = false;
  folded = [];
  lengths = null;
}
window.addEventListener("beforeprint", beforePrint);
window.addEventListener("afterprint", afterPrint);
window.matchMedia("print").addEventListener("change", (event) => (event.matches ? beforePrint() : afterPrint()));

for (const box of document.querySelectorAll(".scroll")) {
  const element = box.querySelector("table");
  if (element) scrollable(box, element);
}
Object.assign(window.dperm, { table, openRow });
for (const element of document.querySelectorAll("table[data-table]")) {
  const made = table(element, JSON.parse(element.dataset.table || "{}"));
  // A table that could not be made searchable shows all of its rows.
  made.catch(() => (element.dataset.enhanced = "false"));
  window.dperm.wait(made);
}
