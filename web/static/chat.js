// The chat pane: sends without leaving the page, shows the answer while it is written, stops it,
// and completes commands. Without this script the form works, and the answer shows on reload.
"use strict";

const form = document.getElementById("chat");
const box = document.getElementById("text");
const said = document.getElementById("said");
const writing = document.getElementById("writing");
const note = document.getElementById("note");
const stop = document.getElementById("stop");
const choices = document.getElementById("choices");
const commands = [...document.querySelectorAll("#commands li")].map((li) => li.dataset);
const newID = () => "web-" + Date.now() + "-" + Math.random().toString(36).slice(2);

function tell(text) {
  note.textContent = text;
  note.hidden = text === "";
}

async function read() {
  const answer = await fetch(said.dataset.src, { headers: { Accept: "text/html" } });
  if (answer.ok) said.innerHTML = await answer.text(); // made by our own templates, which escape everything
  window.scrollTo(0, document.body.scrollHeight);
}

// send keeps the id of a message until the bot has it: what is sent again is the same message.
async function send(text, id) {
  const answer = await fetch(form.action, {
    method: "POST", headers: { Accept: "application/json" }, body: new URLSearchParams({ id, text }),
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.detail);
  return said.reason || "";
}

form.addEventListener("submit", async (e) => {
  e.preventDefault();
  const text = box.value.trim();
  if (text === "") return;
  try {
    tell(await send(text, form.elements.id.value));
    form.elements.id.value = newID();
    box.value = "";
    hide();
    await read();
  } catch (error) {
    tell("Not sent: " + error.message);
  }
});

stop.addEventListener("click", async () => {
  try {
    tell(await send("/stop", newID()));
  } catch (error) {
    tell(error.message);
  }
});

function hide() {
  choices.hidden = true;
  choices.replaceChildren();
}

// offer shows the commands that begin with what is typed.
function offer() {
  const typed = box.value.match(/^\/([a-z]*)$/i);
  hide();
  if (!typed) return;
  for (const c of commands.filter((c) => c.name.startsWith(typed[1].toLowerCase()))) {
    const li = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "/" + c.name + "  " + c.help;
    button.addEventListener("click", () => { box.value = "/" + c.name + " "; hide(); box.focus(); });
    li.append(button);
    choices.append(li);
  }
  choices.hidden = choices.childElementCount === 0;
}

box.addEventListener("input", offer);
box.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    form.requestSubmit();
  } else if (e.key === "Tab" && !choices.hidden) {
    e.preventDefault();
    choices.querySelector("button").click();
  } else if (e.key === "Escape") {
    hide();
  }
});

const events = new EventSource("/api/events?conversation=" + encodeURIComponent(said.dataset.conversation));
events.addEventListener("reply", (e) => {
  const reply = JSON.parse(e.data);
  const busy = reply.state === "writing";
  writing.hidden = !busy;
  stop.hidden = !busy;
  writing.querySelector(".text").textContent = reply.text || "";
  if (reply.state === "sent" && reply.failure) tell(reply.text);
  if (reply.state === "sent") read();
});
events.addEventListener("turn", (e) => {
  stop.hidden = JSON.parse(e.data).state !== "started";
  if (stop.hidden) { writing.hidden = true; read(); }
});
events.addEventListener("reset", read);
form.elements.id.value = newID();
window.scrollTo(0, document.body.scrollHeight);
