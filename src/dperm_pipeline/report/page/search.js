// Search over all pages: every word has to occur in what is found.
const list = document.getElementById("search-found");
if (!list) return;
const MOST = 100;
const count = document.getElementById("search-count");
const field = document.querySelector("#find input");

async function find(text) {
  field.value = text;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = JSON.parse(await window.dperm.unpack("search"));
  const found = words.length ? all.filter((entry) => words.every((word) => entry.join(" ").toLowerCase().includes(word))) : [];
  count.textContent = `${found.length} found${found.length > MOST ? `, the first ${MOST} of them here: add a word` : ""}.`;
  list.replaceChildren(...found.slice(0, MOST).map(([kind, place, title, said]) => {
    const item = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { href: place, textContent: title });
    const about = said.length > 240 ? `${said.slice(0, 240)} …` : said;
    item.append(link, Object.assign(document.createElement("span"), { className: "soft", textContent: ` ${kind}. ${about}` }));
    return item;
  }));
}

field.addEventListener("input", () => {
  window.dperm.say("search", { q: field.value });
  find(field.value);
});
window.dperm.takes("search", (words) => find(words.get("q") ?? ""));
field.focus();
