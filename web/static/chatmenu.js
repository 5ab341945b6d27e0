// The menu above the box: commands and their arguments. Up and Down choose, Tab takes the chosen one, and so does Enter; of
// commands without a choice the first. Escape closes it.
"use strict";

const choices = document.getElementById("choices");
const commands = [...document.querySelectorAll("#commands li")].map((li) => li.dataset);
let chosen = -1;
let asked = 0; // the newest question to the bot: the answer to an older one is too late
let first = false; // Enter takes the first without a choice

function hide() {
  choices.hidden = true;
  choices.replaceChildren();
  chosen = -1;
  first = false;
  asked++;
  box.removeAttribute("aria-activedescendant");
}

function show(list) {
  hide();
  for (const [i, choice] of list.entries()) {
    const li = document.createElement("li");
    li.id = "choice-" + i;
    li.setAttribute("role", "option");
    li.setAttribute("aria-selected", "false");
    li.textContent = choice.label;
    li.addEventListener("mousedown", (e) => { e.preventDefault(); take(choice); });
    li.take = () => take(choice);
    choices.append(li);
  }
  choices.hidden = list.length === 0;
}

function take(choice) {
  type(choice.text);
  hide();
  box.focus();
  offer();
}

function choose(step) {
  const all = [...choices.children];
  all[chosen]?.setAttribute("aria-selected", "false");
  chosen = (chosen + step + all.length) % all.length;
  all[chosen].setAttribute("aria-selected", "true");
  all[chosen].scrollIntoView({ block: "nearest" });
  box.setAttribute("aria-activedescendant", all[chosen].id);
}

// offer shows the commands that begin with what is typed, or what an argument may be.
async function offer() {
  const name = box.value.match(/^\/([a-z]*)$/i);
  if (name) {
    const typed = name[1].toLowerCase();
    show(commands.filter((c) => c.name.startsWith(typed)).map((c) => ({ label: "/" + c.usage + "  " + c.help, text: "/" + c.name + " " })));
    first = choices.children.length > 0 && !commands.some((c) => c.name === typed); // a whole command is sent
    if (first) choose(1);
    return;
  }
  const line = box.value.match(/^(\/([a-z]+)\s+(?:\S+\s+)*?)(\S*)$/i);
  const command = line && commands.find((c) => c.name === line[2].toLowerCase());
  const before = line ? line[1].trim().split(/\s+/).length - 1 : 0; // arguments before this one
  hide();
  if (!command || command.suggests !== String(before)) return;
  const mine = asked;
  const from = new URL(location.pathname + "/suggest", location.href);
  from.search = new URLSearchParams({ command: command.name, typed: line[3] });
  const answer = await fetch(from, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!answer?.ok || mine !== asked) return;
  const found = await answer.json();
  if (mine === asked) show(found.map((c) => ({ label: c.Label, text: line[1] + c.Value + " " })));
}

box.addEventListener("input", offer);
box.addEventListener("blur", hide);
box.addEventListener("keydown", (e) => {
  const composing = e.isComposing || e.keyCode === 229; // Safari's form of isComposing
  const open = !choices.hidden;
  if (open && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
    e.preventDefault();
    choose(e.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1);
  } else if (open && !composing && (e.key === "Tab" && !e.shiftKey || e.key === "Enter" && !e.shiftKey && chosen >= 0)) {
    e.preventDefault();
    choices.children[Math.max(chosen, 0)].take();
  } else if (e.key === "Enter" && !e.shiftKey && !composing) {
    e.preventDefault();
    form.requestSubmit();
  } else if (e.key === "Escape") {
    if (open) hide();
    else edit("");
  } else if (e.key === "ArrowUp" && box.value === "" && !composing && editLast()) {
    e.preventDefault(); // the cursor stays at the end
  }
});
