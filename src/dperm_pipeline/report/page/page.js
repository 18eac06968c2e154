// What every section builds on, window.dperm: payloads, colours, copying and addresses. Tables: tables.js
const root = document.documentElement;

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

// ---- Addresses: #id of a place, or #id?name=value&... of what was chosen there
const takers = new Map();
/** Give what an address chooses at a place to whoever knows what to do with it: a URLSearchParams. */
const takes = (id, take) => takers.set(id, take);

/** Keep in the address what is chosen at a place. */
function say(id, chosen = {}) {
  const words = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value !== "")).toString();
  history.replaceState(null, "", `#${encodeURIComponent(id)}${words && `?${words}`}`);
}

function parts(hash) {
  const [id, words = ""] = [hash.slice(1).split("?", 1)[0], hash.split("?").slice(1).join("?")];
  try {
    return [decodeURIComponent(id), words];
  } catch {
    // A lone % is no code of a letter.
    return [id, words];
  }
}

/** Where a place is that was on this page when there was only one. */
function elsewhere(id) {
  const moved = document.getElementById("moved");
  const pages = moved ? JSON.parse(moved.textContent) : {};
  const words = id.split("-");
  for (let k = words.length; k > 0; k--) {
    const page = pages[words.slice(0, k).join("-")];
    if (page) return page;
  }
  return null;
}

function followHash() {
  const [id, words] = parts(location.hash);
  if (!id) return;
  if (words && takers.has(id)) takers.get(id)(new URLSearchParams(words));
  if (window.dperm.openRow(id)) return;
  const element = document.getElementById(id);
  if (!element) {
    const page = elsewhere(id);
    if (page) location.replace(page + location.hash);
  }
  element?.closest("details")?.setAttribute("open", "");
  element?.scrollIntoView({ block: "start" });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  // The browser says nothing when the same place is asked for again.
  if (link && link.getAttribute("href") === location.hash) followHash();
});
window.addEventListener("hashchange", followHash);
document.getElementById("find")?.addEventListener("submit", (event) => {
  event.preventDefault();
  location.href = `search.html#search?${new URLSearchParams(new FormData(event.target))}`;
});

// ---- The page itself
const pending = [];
/** Ask that the page counts as settled only after this. */
const wait = (promise) => {
  pending.push(promise);
  return promise;
};

window.dperm = { unpack, library, onTheme, theme, copyButton, wait, takes, say };
themeButton();
/** Kept when every table is enhanced. */
window.dperm.settled = (async () => {
  // After the scripts of all sections have run: the parser may pause between two of them.
  if (document.readyState === "loading") await new Promise((go) => document.addEventListener("DOMContentLoaded", go, { once: true }));
  await Promise.allSettled(pending);
  followHash();
  root.dataset.settled = "true";
})();
