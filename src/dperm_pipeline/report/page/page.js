// What every section builds on, window.dperm: payloads, figures, colours, copying and addresses. Tables: tables.js
const root = document.documentElement;
const later = window.requestIdleCallback || ((task) => setTimeout(task, 1));
const pause = (milliseconds) => new Promise((go) => setTimeout(go, milliseconds));

// ---- Payloads: base64 of gzip in <script type="text/plain" id="packed-NAME">
const unpacked = new Map();

async function stream(name) {
  const element = document.getElementById(`packed-${name}`);
  if (!element) throw new Error(`the page holds no payload named ${name}`);
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

function once(kind, name, make) {
  const key = `${kind} ${name}`;
  if (!unpacked.has(key)) unpacked.set(key, make());
  return unpacked.get(key);
}

/** The text of a payload. */
const unpack = (name) => once("text", name, async () => (await stream(name)).text());

/** A library, run once: "datatables" gives DataTable, "vega" gives vegaEmbed. */
const library = (name) =>
  once("library", name, async () => {
    const script = document.createElement("script");
    script.textContent = await (await stream(`library-${name}`)).text();
    document.head.append(script);
    return { datatables: window.DataTable, vega: window.vegaEmbed }[name];
  });

// ---- Figures
const address = (name) =>
  once("figure", name, async () => {
    const text = await (await stream(`figure-${name}`)).blob();
    return URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  });

async function showFigure(image) {
  const payload = document.getElementById(`packed-figure-${image.dataset.figure}`);
  if (!payload) {
    image.replaceWith(`(figure ${image.dataset.figure} is not in this report)`);
    return;
  }
  const [width, height] = payload.dataset.size.split(" ");
  if (!image.hasAttribute("width")) Object.assign(image, { width, height });
  image.loading = "eager";
  image.src = await address(image.dataset.figure);
  if (!image.nextElementSibling?.matches("button.larger")) image.after(enlarger(image));
  await Promise.race([image.decode().catch(() => {}), pause(1000)]);
}

/** A button that shows a figure large, to scroll in: on a phone, and beside another, its letters are small. */
function enlarger(image) {
  const title = image.closest("figure")?.querySelector("h3, h4")?.textContent ?? image.alt;
  const button = Object.assign(document.createElement("button"), { type: "button", className: "larger", textContent: "larger" });
  button.ariaLabel = `larger: ${title}`;
  button.addEventListener("click", () => {
    const dialog = Object.assign(document.createElement("dialog"), { className: "large", ariaLabel: title });
    const close = Object.assign(document.createElement("button"), { type: "button", textContent: "close" });
    const box = Object.assign(document.createElement("div"), { className: "scroll", tabIndex: 0, role: "region", ariaLabel: title });
    box.append(Object.assign(document.createElement("img"), { src: image.src, alt: image.alt }));
    dialog.append(close, box);
    close.addEventListener("click", () => dialog.close());
    // Esc closes it too; the browser gives the focus back to the button.
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  });
  return button;
}

/** Show every <img data-figure="NAME"> below an element: one after the other, so that the page stays quick to the hand. */
async function showFigures(element = document) {
  for (const image of element.querySelectorAll("img[data-figure]:not([src])")) {
    // The details of a row get theirs when it is opened.
    if (image.hasAttribute("src") || image.closest("td.more")) continue;
    await showFigure(image);
    await new Promise((go) => later(go, { timeout: 200 }));
  }
}

// What somebody is about to see comes first.
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      if (!target.hasAttribute("src")) showFigure(target);
    }
  },
  { rootMargin: "600px" },
);

// ---- Light and dark
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = [];
const theme = () => {
  const chosen = root.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : dark.matches ? "dark" : "light";
};
const tell = () => listeners.forEach((listener) => listener(theme()));

/** Call back with "light" or "dark", now and whenever it changes. */
function onTheme(callback) {
  listeners.push(callback);
  callback(theme());
}

function themeButton() {
  const button = document.getElementById("theme");
  if (!button) return;
  const names = ["auto", "light", "dark"];
  const show = () => (button.textContent = `colours: ${root.dataset.theme}`);
  button.addEventListener("click", () => {
    root.dataset.theme = names[(names.indexOf(root.dataset.theme) + 1) % names.length];
    try {
      localStorage.setItem("dperm-theme", root.dataset.theme);
    } catch {
      // A page from disk may be forbidden to remember.
    }
    show();
    tell();
  });
  dark.addEventListener("change", tell);
  show();
}

// ---- Copying: <button class="copy" data-copy="text">, also ones inserted later
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** A button that copies a text. */
function copyButton(text, label = "copy") {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: label });
  button.dataset.copy = text;
  return button;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy");
  if (!button) return;
  const label = button.textContent;
  await copy(button.dataset.copy);
  button.textContent = "copied";
  setTimeout(() => (button.textContent = label), 1500);
});

// ---- Addresses
function idOf(hash) {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    // A lone % is no code of a letter.
    return hash.slice(1);
  }
}

function followHash() {
  const id = idOf(location.hash);
  if (id && !window.dperm.openRow?.(id)) {
    const element = document.getElementById(id);
    element?.closest("details")?.setAttribute("open", "");
    element?.scrollIntoView({ block: "start" });
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  if (!link) return;
  const { filterTable, filters } = link.dataset;
  if (filterTable) window.dperm.filter(filterTable, JSON.parse(filters));
  // The browser says nothing when the same place is asked for again.
  if (link.getAttribute("href") === location.hash) followHash();
});
window.addEventListener("hashchange", followHash);

// ---- The page itself
const pending = [];
/** Ask that the page counts as settled only after this. */
const wait = (promise) => {
  pending.push(promise);
  return promise;
};

window.dperm = { unpack, library, showFigures, onTheme, theme, copyButton, wait };
themeButton();
for (const image of document.querySelectorAll("figure > img[data-figure]")) near.observe(image);
/** Kept when every table is enhanced and every figure shown. */
window.dperm.settled = (async () => {
  // After the scripts of all sections have run: the parser may pause between two of them.
  if (document.readyState === "loading") await new Promise((go) => document.addEventListener("DOMContentLoaded", go, { once: true }));
  await Promise.allSettled(pending);
  if (location.hash) followHash();
  await showFigures(document);
  root.dataset.settled = "true";
})();
