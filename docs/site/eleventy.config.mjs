// Makes the site of the Markdown in docs/: make site.
//
// The pages stay plain Markdown that GitHub shows as well: the title is the first
// heading, a link names the file that it leads to. A file or folder outside docs/ that
// some page links to becomes a page, so that the site is whole without a network.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const repository = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");
const nav = JSON.parse(fs.readFileSync(path.join(repository, "docs/site/nav.json"), "utf8"));
const output = process.env.SITE_OUT || "bin/site";

// The search knows each section of a page by itself.
const sections = [];

// In these pages a row of a table is a thing of its own: a check, a key, a metric, a flag.
const references = ["docs/checks.md", "docs/intent-keys.md", "docs/metrics.md", "docs/commands.md"];

// slug is the anchor that GitHub gives a heading.
const slug = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "").replace(/ /g, "-");

const isFolder = (p) => fs.statSync(path.join(repository, p)).isDirectory();

// pageOf is where the site has a file of the repository.
function pageOf(source) {
  if (source.startsWith("docs/images/")) return source.slice("docs/".length);
  if (isFolder(source)) return `files/${source}/index.html`;
  const name = source.replace(/(^|\/)README\.md$/, "$1index").replace(/\.md$/, "");
  return source.startsWith("docs/") ? `${name.slice("docs/".length)}.html` : `files/${name}.html`;
}

// targetOf is the file of the repository that a link of a page leads to, with the
// anchor, or null for an address outside.
function targetOf(source, href) {
  if (/^[a-z]+:/i.test(href)) return null;
  const [file, anchor = ""] = href.split("#");
  if (file === "") return { file: source, anchor };
  const target = path.posix.join(path.posix.dirname(source), decodeURI(file)).replace(/\/$/, "");
  if (target.startsWith("..") || !fs.existsSync(path.join(repository, target))) {
    throw new Error(`${source}: dead link ${href}`);
  }
  const readme = `${target}/README.md`;
  return { file: fs.existsSync(path.join(repository, readme)) ? readme : target, anchor };
}

const linkPattern = /\]\(([^)\s]+)\)/g;

const languages = { ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sh": "sh", ".go": "go" };

// outside lists the files and folders outside docs/ that pages link to, each with the
// Markdown of its page.
function outside() {
  const found = new Map();
  const queue = fs.readdirSync(path.join(repository, "docs")).filter((f) => f.endsWith(".md")).map((f) => `docs/${f}`);
  for (const source of queue) {
    if (!source.endsWith(".md") && !isFolder(source)) continue; // code has brackets that are no links
    const text = found.get(source) ?? fs.readFileSync(path.join(repository, source), "utf8");
    for (const [, href] of text.matchAll(linkPattern)) {
      const target = targetOf(source, href)?.file;
      if (!target || target.startsWith("docs/") || found.has(target)) continue;
      found.set(target, markdownOf(target));
      queue.push(target);
    }
  }
  return found;
}

function markdownOf(file) {
  const full = path.join(repository, file);
  const list = (folder, from) => fs.readdirSync(path.join(repository, folder))
    .filter((n) => !n.startsWith(".") && !n.endsWith("_test.go") && !["testdata", "node_modules", "README.md"].includes(n))
    .map((n) => `- [${n}](${from}${n})\n`).join("");
  if (isFolder(file)) return `# ${file}\n\n${list(file, path.posix.basename(file) + "/")}`;
  const text = fs.readFileSync(full, "utf8");
  // The README of a folder is the page of the folder.
  if (/\/README\.md$/.test(file)) return `${text}\n## Files\n\n${list(path.posix.dirname(file), "")}`;
  if (file.endsWith(".md")) return text;
  return `# ${file}\n\n~~~~~~${languages[path.extname(file)] ?? ""}\n${text}\n~~~~~~\n`;
}

const escape = (s) => s.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

function markdown(md) {
  const relative = (env, to) => path.posix.relative(path.posix.dirname(pageOf(env.source)), to) || path.posix.basename(to);

  md.core.ruler.push("site", (state) => {
    const { env, tokens } = state;
    env.headings = [];
    const seen = new Map();
    let section = null;
    for (let i = 0; i < tokens.length; i++) {
      const t = tokens[i];
      if (t.type === "heading_open") {
        const text = tokens[i + 1].children.filter((c) => c.type === "text" || c.type === "code_inline").map((c) => c.content).join("");
        const base = slug(text);
        const n = seen.get(base) ?? 0;
        seen.set(base, n + 1);
        const id = n ? `${base}-${n}` : base;
        t.attrSet("id", id);
        env.headings.push({ id, text, level: Number(t.tag.slice(1)) });
        section = { at: pageOf(env.source) + (t.tag === "h1" ? "" : `#${id}`), page: env.headings[0].text, heading: text, text: "" };
        if (env.searched) sections.push(section);
        i += 2;
      } else if (t.type === "tr_open" && section && references.includes(env.source) && tokens[i + 2]?.children?.[0]?.type === "code_inline") {
        const name = tokens[i + 2].children[0].content;
        const ids = [slug(name), `${section.at.split("#")[1]}-${slug(name)}`];
        const id = ids.slice(0, env.source === "docs/checks.md" ? 1 : 2).find((s) => !seen.has(s));
        if (!id) continue; // the same check in another table
        seen.set(id, 1);
        t.attrSet("id", id);
        let text = "";
        for (let j = i + 3; tokens[j].type !== "tr_close"; j++) text += `${tokens[j].content} `;
        sections.push({ at: `${pageOf(env.source)}#${id}`, page: section.heading, heading: name, text: text.replace(/`/g, "") });
      } else if (section && (t.type === "inline" || t.type === "fence" || t.type === "code_block")) {
        section.text += (t.children ? t.children.map((c) => (c.type === "softbreak" ? " " : c.content)).join("") : t.content) + " ";
      }
    }
    const visit = (list) => {
      for (const t of list) {
        const name = t.type === "link_open" ? "href" : t.type === "image" ? "src" : "";
        if (name) {
          const to = targetOf(env.source, t.attrGet(name));
          if (to) t.attrSet(name, (to.file === env.source && to.anchor ? "" : relative(env, pageOf(to.file))) + (to.anchor ? `#${to.anchor}` : ""));
        }
        if (t.children) visit(t.children);
      }
    };
    visit(tokens);
  });

  // A block or table that is too wide scrolls by itself, also by keyboard.
  const code = (text, language) => {
    let html = escape(text.replace(/\n$/, ""));
    if (["sh", "yaml", "toml"].includes(language)) html = html.replace(/(^|\s)(#.*)$/gm, "$1<i>$2</i>");
    return `<div class="code${["sh", "yaml", "json", "go"].includes(language) ? " copied" : ""}"><pre tabindex="0"><code>${html}\n</code></pre></div>\n`;
  };
  md.renderer.rules.fence = (tokens, i) => code(tokens[i].content, tokens[i].info.trim().split(" ")[0]);
  md.renderer.rules.code_block = (tokens, i) => code(tokens[i].content, "");
  md.renderer.rules.table_open = () => '<div class="table" tabindex="0" role="group" aria-label="table"><table>\n';
  md.renderer.rules.table_close = () => "</table></div>\n";
  // The heading of a column without a name is no heading.
  const th = (tokens, i, options, env, self) => (tokens[i + 1].content ? self.renderToken(tokens, i, options) : "<td>");
  md.renderer.rules.th_open = th;
  md.renderer.rules.th_close = (tokens, i) => (tokens[i - 1].content ? "</th>" : "</td>");
}

export default function (site) {
  site.setUseGitIgnore(false);
  site.ignores.add("docs/site/**");
  site.amendLibrary("md", (md) => markdown(md.set({ html: true, linkify: false })));
  site.addGlobalData("layout", "page.njk");
  site.addGlobalData("nav", nav);
  site.addGlobalData("eleventyComputed", {
    source: (data) => data.file ?? data.page.inputPath.replace(/^\.\//, ""),
    permalink: (data) => pageOf(data.file ?? data.page.inputPath.replace(/^\.\//, "")),
  });
  let n = 0;
  for (const [file, text] of outside()) {
    site.addTemplate(`outside-${n++}.md`, text, { file, searched: file.endsWith("README.md") });
  }
  site.addGlobalData("searched", true);
  site.addFilter("root", (source) => path.posix.relative(path.posix.dirname(pageOf(source)), ".") || ".");
  site.addFilter("page", (source) => pageOf(source));
  site.addPassthroughCopy({ "docs/images": "images", "docs/site/assets": "assets" });
  site.addPassthroughCopy({ [path.relative(process.cwd(), require.resolve("minisearch").replace(/dist.*/, "dist/umd/index.js"))]: "assets/minisearch.js" });
  site.on("eleventy.before", () => {
    sections.length = 0;
    fs.rmSync(output, { recursive: true, force: true });
  });
  site.on("eleventy.after", () => {
    for (const s of sections) s.text = s.text.replace(/\s+/g, " ").trim();
    fs.writeFileSync(path.join(output, "assets/sections.js"), `window.sections = ${JSON.stringify(sections)};\n`);
  });
  return { dir: { input: "docs", output, includes: "site/layouts", data: "site/data" }, markdownTemplateEngine: false, templateFormats: ["md"] };
}
