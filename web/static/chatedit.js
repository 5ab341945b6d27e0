// What people do with a message: copy it or its code, edit the last one, have it answered again.
"use strict";

let editing = ""; // id of the message that the next one replaces
const editNote = document.getElementById("editing");

// dress adds what only works with a script to a part of the chat.
function dress(part) {
  for (const code of part.querySelectorAll?.(".code") ?? []) {
    if (code.querySelector("[data-tool]")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.dataset.tool = "code";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the code");
    code.prepend(button);
  }
}

// offerTools shows the buttons that act on the newest message only there.
function offerTools() {
  const latest = document.getElementById("latest")?.dataset ?? {};
  const last = [...said.querySelectorAll("article")].pop();
  for (const button of said.querySelectorAll('[data-tool="edit"]')) button.hidden = button.closest("article").dataset.id !== latest.id;
  for (const button of said.querySelectorAll('[data-tool="again"]')) button.hidden = button.closest("article") !== last || latest.again !== "yes";
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // without HTTPS a browser has no clipboard
    const all = document.createElement("textarea");
    all.value = text;
    document.body.append(all);
    all.select();
    const copied = document.execCommand("copy");
    all.remove();
    if (!copied) return tell("The browser does not let this page copy.");
  }
  const was = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = was; }, 1500);
}

// written returns the text of a message, as its author wrote it.
const written = (article) => (article.querySelector(":scope > .text, :scope > .markdown")?.innerText ?? "").trim();

function edit(id, text) {
  if (id === "" && editing !== "" && text === undefined && box.value !== "") type("");
  editing = id;
  editNote.hidden = id === "";
  if (text !== undefined) {
    setFiles([]);
    type(text);
    box.focus();
    box.setSelectionRange(text.length, text.length);
  }
}

// editLast edits the newest message, if it may be edited, and returns whether it may.
function editLast() {
  const button = said.querySelector('[data-tool="edit"]:not([hidden])');
  const article = button?.closest("article");
  if (article) edit(article.dataset.id, article.querySelector(":scope > .text")?.textContent ?? "");
  return Boolean(article);
}

document.getElementById("edit-cancel").addEventListener("click", () => {
  edit("");
  box.focus();
});

said.addEventListener("click", (e) => {
  const button = e.target.closest("[data-tool]");
  if (!button) return;
  const article = button.closest("article");
  switch (button.dataset.tool) {
    case "copy": copy(written(article), button); break;
    case "code": copy(button.parentElement.querySelector("pre").textContent, button); break;
    case "edit": editLast(); break;
    case "again": finish(send({ replaces: document.getElementById("latest").dataset.id, text: "" })); break;
  }
});
