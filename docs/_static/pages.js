/* Cells know the head of their column, for phones; a link to a method opens what is said of it. */
"use strict";

function nameCells() {
  document.querySelectorAll(".bd-article table").forEach((table) => {
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    if (!heads.length) return;
    table.querySelectorAll("tbody tr").forEach((row) =>
      [...row.cells].forEach((cell, column) => {
        cell.dataset.head = cell.textContent.trim() ? (heads[column] ?? "") : "";
      }),
    );
  });
}

function openMember() {
  const name = decodeURIComponent(window.location.hash.slice(1));
  const place = name && document.getElementById(name);
  if (!place || place.tagName !== "DT") return;
  const details = place.parentElement.querySelector("details.member");
  if (details) details.open = true;
}

nameCells();
openMember();
window.addEventListener("hashchange", openMember);
