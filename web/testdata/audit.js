// Returns what is wrong with the page for people: contrast, labels, headings, ids, overflow.
(() => {
  const wrong = [];
  const visible = (e) => e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && e.getBoundingClientRect().width > 1;
  const numbers = (color) => (color.match(/[\d.]+/g) || []).map(Number);
  const over = ([r, g, b, a = 1], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const ground = (e) => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) layers.unshift(numbers(getComputedStyle(p).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]);
  };
  const light = (color) => {
    const [r, g, b] = color.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || ["SCRIPT", "STYLE", "OPTION", "TITLE", "DESC", "title", "desc"].includes(e.tagName) || !visible(e)) continue;
    const style = getComputedStyle(e);
    const below = ground(e);
    const ink = over(numbers(e.namespaceURI.endsWith("svg") ? style.fill : style.color), below);
    const [dark, bright] = [light(ink), light(below)].sort((a, b) => a - b);
    const ratio = (bright + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5;
    const what = `contrast ${ratio.toFixed(2)} of ${e.tagName}.${e.getAttribute("class")} "${walker.currentNode.data.trim().slice(0, 30)}"`;
    if (ratio < least && !seen.has(what)) wrong.push(what);
    seen.add(what);
  }
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a")) {
    if (!visible(e)) continue;
    const name = e.getAttribute("aria-label") || e.labels?.[0]?.textContent.replace(e.textContent, "") || (e.tagName === "BUTTON" || e.tagName === "A" ? e.textContent : "");
    if (!name.trim()) wrong.push("no label: " + e.outerHTML.slice(0, 120));
  }
  let level = 0;
  for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
    if (Number(h.tagName[1]) > level + 1) wrong.push("heading out of order: " + h.outerHTML.slice(0, 120));
    level = Number(h.tagName[1]);
  }
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) wrong.push("id twice: " + id);
  if (!document.documentElement.lang || !document.querySelector("main") || !document.title) wrong.push("no lang, main or title");
  for (const e of document.querySelectorAll("figure")) if (e.scrollWidth > e.clientWidth + 1) wrong.push("a chart is cut: " + e.textContent.trim().slice(0, 40));
  if (document.documentElement.scrollWidth > innerWidth + 1) wrong.push(`wider than the window: ${document.documentElement.scrollWidth} of ${innerWidth}`);
  return wrong;
})();
