// Files for the next message: by the button, pasted, or dropped on the page.
"use strict";

const fileInput = document.getElementById("file");
const fileList = document.getElementById("files");
let files = [];
const mostFiles = 10;
const mostBytes = 20 << 20; // as the API allows

function setFiles(all) {
  files = all;
  fileList.replaceChildren(...files.map((file, i) => {
    const li = document.createElement("li");
    const name = document.createElement("span");
    name.dir = "auto";
    name.textContent = file.name;
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "Remove";
    remove.setAttribute("aria-label", "Remove " + file.name);
    remove.addEventListener("click", () => {
      setFiles(files.filter((_, j) => j !== i));
      box.focus();
    });
    li.append(name, " ", remove);
    return li;
  }));
  fileList.hidden = files.length === 0;
}

function addFiles(added) {
  const all = [...files, ...added];
  if (all.length > mostFiles) tell(`A message has at most ${mostFiles} files.`);
  else if (all.reduce((sum, file) => sum + file.size, 0) > mostBytes) tell(`The files of a message have at most ${mostBytes >> 20} MB together.`);
  else if (editing !== "") tell("A message that is edited keeps its files. Send other files with a message of their own.");
  else setFiles(all);
  box.focus();
}

// contents reads the files for the API.
function contents() {
  return Promise.all(files.map((file) => new Promise((done, failed) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => done({ name: file.name, type: file.type, data: reader.result.slice(reader.result.indexOf(",") + 1) }));
    reader.addEventListener("error", () => failed(reader.error));
    reader.readAsDataURL(file);
  })));
}

document.getElementById("attach").addEventListener("click", () => fileInput.click());
fileInput.addEventListener("change", () => {
  addFiles(fileInput.files);
  fileInput.value = ""; // the same file may be chosen again
});
box.addEventListener("paste", (e) => {
  if (e.clipboardData.files.length === 0) return;
  e.preventDefault();
  addFiles(e.clipboardData.files);
});

// A file that is dropped anywhere on the page is attached: a browser would open it, and leave the chat.
const carries = (e) => [...(e.dataTransfer?.types ?? [])].includes("Files");
for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (e) => {
    if (!carries(e)) return;
    e.preventDefault();
    document.body.classList.add("dropping");
  });
}
document.addEventListener("dragleave", (e) => { if (e.relatedTarget === null) document.body.classList.remove("dropping"); });
document.addEventListener("drop", (e) => {
  if (!carries(e)) return;
  e.preventDefault();
  document.body.classList.remove("dropping");
  addFiles(e.dataTransfer.files);
});
