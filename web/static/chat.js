// The chat pane: sends without leaving the page, shows the answer while it is written, stops it,
// and completes commands. Without this script the chat can be read.
"use strict";

const form = document.getElementById("chat");
const box = document.getElementById("text");
const said = document.getElementById("said");
const writing = document.getElementById("writing");
const told = document.getElementById("note");
const stop = document.getElementById("stop");
const choices = document.getElementById("choices");
const commands = [...document.querySelectorAll("#commands li")].map((li) => li.dataset);
const newID = () => "web-" + Date.now() + "-" + Math.random().toString(36).slice(2);

// tell shows the answer to a command, or what did not work.
function tell(text) {
  follow(() => {
    told.textContent = text;
    told.hidden = text === "";
  });
}

// follow shows what is new. The page follows it only where its end is in view: people read on above.
function follow(show) {
  const atEnd = innerHeight + scrollY > document.body.scrollHeight - 60;
  show();
  if (atEnd) scrollTo(0, document.body.scrollHeight);
}

// merge replaces the elements that differ, so that a screen reader reads out only what is new.
function merge(fresh) {
  for (const old of [...said.children]) if (!fresh.some((one) => one.isEqualNode(old))) old.remove();
  fresh.forEach((one, i) => { if (!said.children[i]?.isEqualNode(one)) said.insertBefore(one, said.children[i]); });
  while (said.children.length > fresh.length) said.lastElementChild.remove();
}

function busy(answering) {
  stop.hidden = !answering;
  if (!answering) writing.hidden = true;
}

const isAnswering = () => document.getElementById("answering") !== null;

// read reads the messages again. It returns false if a newer read has started.
let reading = 0;
async function read() {
  const mine = ++reading;
  const answer = await fetch(said.dataset.src, { headers: { Accept: "text/html" } }).catch(() => null);
  if (answer?.status === 401) tell("You are no longer logged in. Reload this page to log in.");
  if (!answer?.ok) return false;
  const fresh = document.createElement("template");
  fresh.innerHTML = await answer.text(); // made by our own pages, which escape everything
  if (mine !== reading) return false;
  follow(() => merge([...fresh.content.children]));
  return true;
}

async function send(text, id) {
  const taken = await change("POST", form.dataset.api, { id, text });
  return taken.answer ?? "";
}

// What could not be sent keeps its id: the bot may have it, and what is sent again is the same message.
let unsent = {};

form.addEventListener("submit", async (e) => {
  e.preventDefault();
  const text = box.value.trim();
  if (text === "") return;
  const id = text === unsent.text ? unsent.id : newID();
  box.value = ""; // at once: people type the next message while this one is on its way
  hide();
  scrollTo(0, document.body.scrollHeight);
  const slow = setTimeout(() => tell("Waiting for the bot …"), 2000);
  try {
    tell(await send(text, id));
  } catch (error) {
    unsent = { text, id };
    const more = box.value === "" ? "" : " The message was: " + text;
    box.value ||= text;
    tell("Not sent: " + error.message + more);
    return;
  } finally {
    clearTimeout(slow);
  }
  unsent = {};
  await read();
});

// finish tells what a button did, which then goes away: people type on.
function finish(done) {
  done.catch((error) => error.message).then(tell).then(read);
  box.focus();
}

said.addEventListener("submit", (e) => {
  e.preventDefault();
  finish(act(e.target).then(([text]) => text));
});

stop.addEventListener("click", () => finish(send("/stop", newID())));

// The list of choices below the box: Up and Down choose, Tab or Enter takes the chosen one,
// Escape closes it.
let chosen = -1;
let asked = 0; // the newest question to the bot: the answer to an older one is too late

function hide() {
  choices.hidden = true;
  choices.replaceChildren();
  chosen = -1;
  asked++;
  box.removeAttribute("aria-activedescendant");
}

function show(list) {
  hide();
  for (const [i, choice] of list.entries()) {
    const li = document.createElement("li");
    li.id = "choice-" + i;
    li.setAttribute("role", "option");
    li.textContent = choice.label;
    li.addEventListener("mousedown", (e) => { e.preventDefault(); take(choice); });
    li.take = () => take(choice);
    choices.append(li);
  }
  choices.hidden = list.length === 0;
}

function take(choice) {
  box.value = choice.text;
  hide();
  box.focus();
  offer();
}

function choose(step) {
  const all = [...choices.children];
  all[chosen]?.removeAttribute("aria-selected");
  chosen = (chosen + step + all.length) % all.length;
  all[chosen].setAttribute("aria-selected", "true");
  all[chosen].scrollIntoView({ block: "nearest" });
  box.setAttribute("aria-activedescendant", all[chosen].id);
}

// offer shows the commands that begin with what is typed, or what an argument may be.
async function offer() {
  const name = box.value.match(/^\/([a-z]*)$/i);
  if (name) {
    show(commands.filter((c) => c.name.startsWith(name[1].toLowerCase()))
      .map((c) => ({ label: "/" + c.usage + "  " + c.help, text: "/" + c.name + " " })));
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
  const open = !choices.hidden;
  if (open && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
    e.preventDefault();
    choose(e.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1);
  } else if (open && (e.key === "Tab" || e.key === "Enter" && chosen >= 0)) {
    e.preventDefault();
    choices.children[Math.max(chosen, 0)].take();
  } else if (e.key === "Enter" && !e.shiftKey && !e.isComposing && e.keyCode !== 229) { // 229: Safari's form of isComposing
    e.preventDefault();
    form.requestSubmit();
  } else if (e.key === "Escape") {
    hide();
  }
});

watch("/api/events?conversation=" + encodeURIComponent(said.dataset.conversation), {
  reply: (reply) => {
    follow(() => {
      writing.hidden = reply.state !== "writing";
      writing.querySelector(".text").textContent = reply.text || "";
    });
    if (reply.state === "sent") read();
  },
  turn: (turn) => { busy(turn.state === "started"); read(); },
  approval: read, reset: async () => { if (await read()) busy(isAnswering()); },
});
form.hidden = false;
busy(isAnswering());
scrollTo(0, document.body.scrollHeight);
