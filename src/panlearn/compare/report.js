"use strict";

// Sort a leaderboard by the column whose header is pressed; failed rows stay last.
const live = document.getElementById("live");

function sortBy(header) {
  const column = [...header.parentNode.children].indexOf(header);
  const before = header.getAttribute("aria-sort");
  const opposite = { ascending: "descending", descending: "ascending" };
  const direction = before ? opposite[before] : header.dataset.first;
  const sign = direction === "ascending" ? 1 : -1;
  const value = (row) => row.children[column]?.dataset.value ?? "";
  const compare = (a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left === "" || right === "") return (left === "") - (right === "");
    const order = header.dataset.kind === "number"
      ? Number(left) - Number(right)
      : left.localeCompare(right);
    return sign * order;
  };
  const body = header.closest("table").tBodies[0];
  const failed = (row) => row.classList.contains("failed");
  const rows = [...body.rows].sort((a, b) => failed(a) - failed(b) || compare(a, b));
  body.append(...rows);
  for (const other of header.parentNode.children) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction);
  live.textContent = `Sorted by ${header.textContent.trim()}, ${direction}`;
}

for (const button of document.querySelectorAll("table.leaderboard thead button")) {
  button.addEventListener("click", () => sortBy(button.closest("th")));
}

async function copy(button) {
  const code = button.parentNode.querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    // Without the clipboard's permission, copy what is selected.
    getSelection().selectAllChildren(code);
    document.execCommand("copy");
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", () => copy(button));
}

// A link to a row's code opens it.
function open() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
}
addEventListener("hashchange", open);
open();

// On paper nothing can be opened.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const one of closed) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of closed) one.open = false;
});
