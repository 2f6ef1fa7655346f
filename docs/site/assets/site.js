// Search, and a button that copies a block. Plain scripts, so that pages also work from
// the disk, where a browser loads no modules and fetches nothing.
(() => {
  const root = document.body.dataset.root;
  const input = document.getElementById("search");
  const results = document.getElementById("results");
  const article = document.querySelector("article");
  let index;

  const load = (src) => new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${root}/assets/${src}`;
    script.onload = done;
    script.onerror = () => failed(new Error(`${src} cannot be loaded`));
    document.head.append(script);
  });

  // The index is made at the first search.
  const ready = () => index ??= Promise.all([load("minisearch.js"), load("sections.js")]).then(() => {
    const made = new MiniSearch({
      idField: "at",
      fields: ["heading", "page", "text"],
      storeFields: ["at", "page", "heading", "text"],
      // Also the parts of names such as PFC-02, --save and Ethernet1/1.
      tokenize: (text) => [...text.split(/[\s.,;:()[\]{}|`"'<>=]+/), ...text.split(/[^\p{L}\p{N}]+/u)].filter(Boolean),
      searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: (term) => (term.length > 4 ? 0.2 : false), combineWith: "AND" },
    });
    made.addAll(window.sections);
    return made;
  });

  const marked = (text, terms) => {
    const words = terms.filter((t) => t.length > 1).map((t) => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const pattern = new RegExp(`(${words.join("|") || "$^"})`, "gi");
    const first = Math.max(0, text.search(pattern) - 60);
    const p = document.createElement("p");
    const part = (first ? "… " : "") + text.slice(first, first + 200) + (text.length > first + 200 ? " …" : "");
    part.split(pattern).forEach((piece, i) => {
      if (i % 2) p.append(Object.assign(document.createElement("mark"), { textContent: piece }));
      else p.append(piece);
    });
    return p;
  };

  async function search() {
    const query = input.value.trim();
    results.hidden = query === "";
    article.hidden = query !== "";
    if (query === "") return;
    const found = (await ready()).search(query);
    if (query !== input.value.trim()) return;
    const title = Object.assign(document.createElement("h1"), {
      textContent: found.length ? `${found.length} ${found.length === 1 ? "section" : "sections"} for “${query}”` : `Nothing for “${query}”`,
    });
    const list = document.createElement("ol");
    for (const r of found.slice(0, 30)) {
      const link = Object.assign(document.createElement("a"), { href: `${root}/${r.at}`, textContent: r.page === r.heading ? r.page : `${r.page}: ${r.heading}` });
      link.addEventListener("click", () => { input.value = ""; search(); });
      const item = document.createElement("li");
      item.append(link, marked(r.text, r.terms));
      list.append(item);
    }
    results.replaceChildren(title, list);
    results.dataset.for = query;
  }

  input.addEventListener("input", search);
  input.form.addEventListener("submit", (e) => {
    e.preventDefault();
    results.querySelector("a")?.focus();
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !/^(INPUT|TEXTAREA)$/.test(e.target.tagName)) {
      e.preventDefault();
      input.focus();
    }
    if (e.key === "Escape" && input.value) {
      input.value = "";
      search();
    }
  });
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    input.value = asked;
    search();
  }

  if (navigator.clipboard) {
    for (const block of document.querySelectorAll(".copied")) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy" });
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(block.querySelector("code").innerText.trimEnd() + "\n");
        button.textContent = "Copied";
      });
      block.append(button);
    }
  }
})();
