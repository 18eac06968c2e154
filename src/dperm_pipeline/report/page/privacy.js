// Errata stand folded by paper; on paper all are open. (A link to one opens its own: page.js follows the hash.)
const folded = document.querySelectorAll("details.errata");
let closed = [];
window.addEventListener("beforeprint", () => {
  closed = [...folded].filter((part) => !part.open);
  for (const part of closed) part.open = true;
});
window.addEventListener("afterprint", () => {
  for (const part of closed) part.open = false;
});
