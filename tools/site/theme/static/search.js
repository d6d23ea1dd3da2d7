// The search: all words that are typed have to be in a part of a page. The index is a script, so that it loads from a disk too.
"use strict";
(() => {
  const form = document.getElementById("search");
  const query = document.getElementById("query");
  const found = document.getElementById("found");
  const count = document.getElementById("count");
  const results = document.getElementById("results");
  const base = new URL(".", document.currentScript.src);
  const most = 20;
  let loading;

  function load() {
    loading ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = new URL("search-index.js", base);
      script.onload = () => done(window.searchIndex.map((part) => ({
        ...part,
        page: part.p.toLowerCase(), heading: part.h.toLowerCase(), text: part.t.toLowerCase(),
      })));
      script.onerror = failed;
      document.head.append(script);
    });
    return loading;
  }

  // score is 0 for a part that lacks a word.
  function score(part, words) {
    let sum = 0;
    for (const word of words) {
      const title = part.h ? part.heading : part.page;
      let points = 0;
      if (title === word) points = 100;
      else if (title.split(/[^a-z0-9_.]+/).includes(word)) points = 60;
      else if (title.includes(word)) points = 30;
      else if (part.page.includes(word)) points = 10;
      const first = part.text.indexOf(word);
      if (first >= 0) points += first < 200 ? 5 : 3;
      if (points === 0) return 0;
      sum += points;
    }
    if (!part.h) sum += 5; // a page rather than a part of it
    return part.u.startsWith("contributing/") ? sum / 2 : sum; // what is for users comes first
  }

  // snippet is the text around the first word, with the words marked.
  function snippet(part, words) {
    const places = words.map((word) => part.text.indexOf(word)).filter((place) => place >= 0);
    const from = places.length ? Math.max(0, Math.min(...places) - 50) : 0;
    const text = part.t.slice(from, from + 160);
    const span = document.createElement("span");
    if (from > 0) span.append("… ");
    const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi");
    text.split(pattern).forEach((piece, i) => {
      if (i % 2 === 0) return span.append(piece);
      const mark = document.createElement("mark");
      mark.textContent = piece;
      span.append(mark);
    });
    if (from + 160 < part.t.length) span.append(" …");
    return span;
  }

  function item(part, words) {
    const title = document.createElement("strong");
    title.textContent = part.h ? `${part.p} › ${part.h}` : part.p;
    const link = document.createElement("a");
    link.href = new URL(part.u, base);
    link.append(title, snippet(part, words));
    const li = document.createElement("li");
    li.append(link);
    return li;
  }

  function close() {
    found.hidden = true;
  }

  async function search() {
    const typed = query.value;
    const words = [...new Set(typed.toLowerCase().split(/\s+/).filter(Boolean))];
    if (!words.length) return close();
    let parts;
    try {
      parts = await load();
    } catch {
      loading = undefined;
      results.replaceChildren();
      count.textContent = "The index of the search did not load: try again.";
      found.hidden = false;
      return;
    }
    if (typed !== query.value) return; // a later key is on its way
    const hits = parts.map((part) => [score(part, words), part]).filter(([points]) => points > 0).sort((a, b) => b[0] - a[0]);
    results.replaceChildren(...hits.slice(0, most).map(([, part]) => item(part, words)));
    count.textContent = hits.length === 0 ? "Nothing found" : hits.length > most ? `${most} of ${hits.length} places` : hits.length === 1 ? "1 place" : `${hits.length} places`;
    found.hidden = false;
  }

  query.addEventListener("focus", () => load().catch(() => { loading = undefined; }));
  query.addEventListener("input", search);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    results.querySelector("a")?.click();
  });
  form.addEventListener("keydown", (event) => {
    const links = [...results.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "Escape") {
      close();
      query.focus();
    } else if (event.key === "ArrowDown" && !found.hidden && links.length) {
      links[Math.min(at + 1, links.length - 1)].focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      (at === 0 ? query : links[at - 1]).focus();
    } else {
      return;
    }
    event.preventDefault();
  });
  form.addEventListener("click", (event) => {
    if (event.target.closest("a")) close(); // the link may be to this very page
  });
  document.addEventListener("click", (event) => {
    if (!form.contains(event.target)) close();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName) || document.activeElement?.isContentEditable;
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    query.focus();
  });
})();
