// The map and the benchmark page: what is asked for stays, the rest steps back. No network.
"use strict";

function filterMap() {
  const form = document.getElementById("ask");
  if (!form) return;
  const places = [...document.querySelectorAll("#places li[data-path]")];
  const dots = new Map(
    [...document.querySelectorAll("#places svg a")].map((dot) => [dot.dataset.path, dot]),
  );
  const found = document.getElementById("found");
  const all = found.textContent;
  const has = (place, key, value) => !value || place.dataset[key].split(" ").includes(value);

  function show(remember) {
    const asked = Object.fromEntries(new FormData(form));
    const word = asked.word.trim().toLowerCase();
    const active = Boolean(asked.task || asked.chapter || asked.peer || word);
    let count = 0;
    for (const place of places) {
      const hit =
        ["task", "chapter", "peer"].every((key) => has(place, key, asked[key])) &&
        word.split(/\s+/).every((part) => place.dataset.words.includes(part));
      place.hidden = !hit;
      dots.get(place.dataset.path).classList.toggle("away", !hit);
      count += hit;
    }
    for (const tile of document.querySelectorAll("#places .tile"))
      tile.hidden = !tile.querySelector("li:not([hidden])");
    document.getElementById("places").classList.toggle("asked", active);
    found.textContent = active ? `${count} method${count === 1 ? "" : "s"} found.` : all;
    if (remember) {
      const kept = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
      history.replaceState(null, "", kept.size ? `#${kept}` : location.pathname);
    }
  }

  function read() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const [key, value] of asked) if (form.elements[key]) form.elements[key].value = value;
    show(false);
  }

  form.addEventListener("input", () => show(true));
  form.addEventListener("reset", () => setTimeout(() => show(true)));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", read);
  read();
}

function filterBenchmarks() {
  const box = document.getElementById("filter");
  if (!box) return;
  const rows = [...document.querySelectorAll("#workloads details.workload")];
  const show = () => {
    const parts = box.value.trim().toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      const hit = parts.every((part) => row.dataset.words.includes(part));
      row.hidden = !hit;
      count += hit;
    }
    for (const group of document.querySelectorAll("#workloads .family, #workloads .group"))
      group.hidden = !group.querySelector("details.workload:not([hidden])");
    for (const group of document.querySelectorAll("#workloads .group"))
      group.open = box.value.trim() !== "";
    document.getElementById("count").textContent = `${count} of ${rows.length} workloads`;
  };
  box.addEventListener("input", show);
  show();
}

function keepPicturesReadable() {
  const pictures = "img.sphx-glr-single-img, img.sphx-glr-multi-img, img.method-picture";
  for (const picture of document.querySelectorAll(pictures)) {
    const inner = picture.closest("a") ?? picture.closest("picture") ?? picture;
    const frame = document.createElement("div");
    frame.className = "picture-frame";
    inner.replaceWith(frame);
    frame.append(inner);
    const widen = () => {
      picture.style.minWidth = `${Math.round(0.55 * picture.naturalWidth)}px`;
    };
    if (picture.complete) widen();
    else picture.addEventListener("load", widen);
  }
}

addEventListener("DOMContentLoaded", () => {
  keepPicturesReadable();
  filterMap();
  filterBenchmarks();
});
