/* Search by whole words: "roc" is not in "process", and each page is found once.

   All words of a query must be on a page, in one of their forms ("value" and "values" have one
   stem). A page of that title comes first, then the class or function of that name, then titles
   that hold the words, then texts. If no page has the words, those that begin with them count. */
"use strict";

const SCORES = { title: 100, name: 90, member: 40, titleWords: 30, section: 20, text: 5 };
// Of pages that fit equally well, guides come first, and pages that list everything last.
const PLACES = [
  [/^(changes|contributing|GOVERNANCE|CODE_OF_CONDUCT)$/, -4],
  [/^index$|\/index$/, -2],
  [/^gallery\//, -1],
  [/^reference\//, 0],
];
const GUIDE = 1;

function wordsOf(text, stemmer) {
  return splitQuery(text.toLowerCase()).map((word) => stemmer.stemWord(word));
}

class Pages {
  constructor(index) {
    this.index = index;
    this.best = new Map();
  }

  add(page, score, title, anchor, description, kind) {
    const { docnames, filenames } = this.index;
    const found = this.best.get(page);
    const place = PLACES.find(([names]) => names.test(docnames[page]));
    score += place ? place[1] : GUIDE;
    if (found && found[4] >= score) return;
    const result = [docnames[page], title, anchor, description, score, filenames[page], kind];
    this.best.set(page, result);
  }
}

function searchTitles(pages, words, stemmer) {
  const { alltitles, titles } = pages.index;
  for (const [title, places] of Object.entries(alltitles)) {
    const inTitle = wordsOf(title, stemmer);
    if (!words.every((word) => inTitle.includes(word))) continue;
    const share = words.length / inTitle.length;
    for (const [page, id] of places) {
      const whole = titles[page] === title;
      const score = whole && share >= 1 ? SCORES.title : whole ? SCORES.titleWords : SCORES.section;
      const shown = whole ? title : `${titles[page]} > ${title}`;
      pages.add(page, score + share, shown, id && !whole ? `#${id}` : "", null, "title");
    }
  }
}

function searchObjects(pages, query) {
  const { objects, objnames, titles } = pages.index;
  const asked = query.toLowerCase().trim().replace(/^(from .*)?import\s+/, "");
  if (/\s/.test(asked)) return;
  for (const [prefix, entries] of Object.entries(objects)) {
    for (const [page, type, , anchor, name] of entries) {
      const full = prefix ? `${prefix}.${name}` : name;
      const lower = full.toLowerCase();
      if (lower !== asked && !lower.endsWith(`.${asked}`)) continue;
      const kind = objnames[type][2];
      if (titles[page] === full) pages.add(page, SCORES.name, full, "", null, "object");
      else {
        const id = anchor === "" ? full : anchor === "-" ? `${objnames[type][1]}-${full}` : anchor;
        pages.add(page, SCORES.member, full, `#${id}`, kind, "object");
      }
    }
  }
}

function pagesWith(word, begins, index) {
  const found = new Map();
  for (const [terms, score] of [[index.terms, SCORES.text], [index.titleterms, SCORES.section]]) {
    const fits = begins
      ? Object.keys(terms).filter((term) => term.startsWith(word))
      : Object.hasOwn(terms, word) ? [word] : [];
    for (const term of fits)
      for (const page of [terms[term]].flat())
        found.set(page, Math.max(score, found.get(page) ?? 0));
  }
  return found;
}

function searchTexts(pages, words, excluded, begins) {
  const found = words.map((word) => pagesWith(word, begins, pages.index));
  if (!found.length) return;
  for (const page of found[0].keys()) {
    const scores = found.map((of) => of.get(page));
    if (scores.every((score) => score !== undefined))
      pages.add(page, Math.min(...scores), pages.index.titles[page], "", null, "text");
  }
  for (const word of excluded)
    for (const page of pagesWith(word, false, pages.index).keys()) pages.best.delete(page);
}

Search._performSearch = (query, searchTerms, excludedTerms) => {
  const progress = document.getElementById("search-progress");
  if (progress) progress.replaceChildren();
  const stemmer = new Stemmer();
  const words = [...searchTerms];
  const pages = new Pages(Search._index);
  if (words.length) searchTitles(pages, words, stemmer);
  searchObjects(pages, query);
  searchTexts(pages, words, excludedTerms, false);
  if (!pages.best.size) searchTexts(pages, words, excludedTerms, true);
  return [...pages.best.values()].sort(_orderResultsByScoreThenName);
};

const WORD_SIGN = /[\p{Letter}\p{Number}_]/u;

/* Take the marks of the theme from within words; those of whole words and of their beginnings stay. */
function unmarkParts(root) {
  root.querySelectorAll("span.highlighted").forEach((mark) => {
    const before = mark.previousSibling?.textContent.at(-1);
    if (before && WORD_SIGN.test(before)) mark.replaceWith(mark.textContent);
  });
}

Search.makeSearchSummary = (html, keywords, anchor) => {
  const text = Search.htmlToText(html, anchor).replace(/\s+/g, " ");
  if (!text.trim()) return null;
  const places = [...keywords]
    .map((word) => text.search(new RegExp(`(?<![\\p{L}\\p{N}_])${_escapeRegExp(word)}`, "iu")))
    .filter((place) => place >= 0);
  const begin = Math.max(Math.min(...places, text.length) - 120, 0);
  const start = places.length ? begin : 0;
  const summary = document.createElement("p");
  summary.classList.add("context");
  const shown = text.slice(start, start + 240).trim();
  summary.textContent = (start ? "..." : "") + shown + (start + 240 < text.length ? "..." : "");
  setTimeout(() => unmarkParts(summary.parentElement), 0); // marks are set when this returns
  return summary;
};

// Marks on the page that a result leads to are set within a moment of its loading.
window.addEventListener("load", () => setTimeout(() => unmarkParts(document.body), 100));
