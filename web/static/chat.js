// The chat: sends without leaving the page, shows the answer while it is written, and stops it.
// Without this script the chat can be read. The other parts of the chat are in chatmenu.js (commands),
// chatfiles.js, chatedit.js (copy, edit, answer again) and chatrooms.js (the list of chats).
"use strict";

const form = document.getElementById("chat");
const box = document.getElementById("text");
const said = document.getElementById("said");
const writing = document.getElementById("writing");
const told = document.getElementById("note");
const stop = document.getElementById("stop");
const gauge = document.getElementById("gauge");
const conversation = said.dataset.conversation;
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

// merge replaces the elements that differ, so that a screen reader reads out only what is new, and what people opened stays open.
function merge(fresh) {
  for (const one of fresh) one.source = one.outerHTML;
  for (const old of [...said.children]) if (!fresh.some((one) => one.source === old.source)) old.remove();
  fresh.forEach((one, i) => {
    if (said.children[i]?.source === one.source) return;
    said.insertBefore(one, said.children[i] ?? null);
    openable(one);
    dress(one);
  });
  while (said.children.length > fresh.length) said.lastElementChild.remove();
  offerTools();
}

function busy(answering) {
  stop.hidden = !answering;
  if (!answering) writing.hidden = true;
}

const isAnswering = () => document.getElementById("answering") !== null;

// read reads the messages again, and once more if something happens while it does. It returns false if that failed.
let reading = null;
let stale = false; // since the read that runs has started
function read() {
  stale = true;
  reading ??= (async () => {
    let done = true;
    while (stale && done) {
      stale = false;
      done = await readOnce();
    }
    reading = null;
    return done;
  })();
  return reading;
}

async function readOnce() {
  const answer = await fetch(said.dataset.src, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(30000) }).catch(() => null);
  if (answer?.status === 401) tell("You are no longer logged in. Reload this page to log in.");
  if (!answer?.ok) return false;
  const fresh = document.createElement("template");
  fresh.innerHTML = await answer.text().catch(() => ""); // made by our own pages, which escape everything
  if (fresh.content.children.length === 0) return false;
  follow(() => merge([...fresh.content.children]));
  document.getElementById("manage").hidden = said.querySelector("article") === null;
  return true;
}

async function send(body) {
  const taken = await change("POST", form.dataset.api, { id: newID(), ...body });
  return taken.answer ?? "";
}

// What could not be sent keeps its id: the bot may have it, and what is sent again is the same message.
let unsent = {};
let packing = false; // files are read, which takes a moment

form.addEventListener("submit", async (e) => {
  e.preventDefault();
  if (packing) return;
  const message = { text: box.value.trim() };
  if (editing !== "") message.replaces = editing;
  else if (files.length > 0) {
    packing = true;
    try {
      message.files = await contents();
    } catch {
      tell("Not sent: a file cannot be read. Remove it, and attach it again.");
      return;
    } finally {
      packing = false;
    }
  }
  if (message.text === "" && !message.files) return;
  const key = JSON.stringify(message);
  message.id = key === unsent.key ? unsent.id : newID();
  const sent = { files, editing };
  type(""); // people type the next message while this one is on its way
  setFiles([]);
  edit("");
  hide();
  scrollTo(0, document.body.scrollHeight);
  const slow = setTimeout(() => tell("Waiting for the bot …"), 2000);
  try {
    tell(await send(message));
  } catch (error) {
    unsent = { key, id: message.id };
    const more = box.value === "" ? "" : " The message was: " + message.text;
    if (box.value === "") {
      type(message.text);
      setFiles(sent.files);
      edit(sent.editing);
    }
    tell("Not sent: " + error.message + more);
    return;
  } finally {
    clearTimeout(slow);
  }
  unsent = {};
  if (await read()) refreshRooms();
});

// type puts a text into the box, which grows with it.
function type(text) {
  box.value = text;
  grow();
}
function grow() {
  box.style.height = ""; // through the object model, which the content policy allows
  box.style.height = Math.min(box.scrollHeight + 2, innerHeight * 0.4) + "px";
}
box.addEventListener("input", grow);

// finish tells what a button did, which then goes away: people type on.
function finish(done) {
  done.catch((error) => error.message).then(tell).then(read);
  box.focus();
}

said.addEventListener("submit", (e) => {
  e.preventDefault();
  finish(act(e.target).then(([text]) => text));
});

stop.addEventListener("click", () => finish(send({ text: "/stop" })));

function measure(usage) {
  const percent = Math.round(100 * usage.used_tokens / usage.max_tokens);
  gauge.hidden = false;
  gauge.querySelector("meter").value = percent;
  gauge.querySelector("span").textContent = percent + " %";
}

// here calls a handler with the events of this chat.
const here = (handler) => (event) => { if (event.conversation === conversation) handler(event); };

function start() {
  for (const one of said.children) {
    one.source = one.outerHTML;
    dress(one);
  }
  offerTools();
  watch("/api/events?kinds=reply,turn,approval,usage,memory,compaction", {
    reply: here((reply) => {
      follow(() => {
        writing.hidden = reply.state !== "writing";
        const shown = writing.lastElementChild;
        if (reply.html) shown.innerHTML = reply.html; // made by our own server, which escapes everything
        else shown.textContent = reply.text ?? "";
      });
      if (reply.state === "sent") read();
    }),
    turn: (turn) => {
      refreshRooms();
      if (turn.conversation !== conversation) return;
      if (turn.state !== "changed") busy(turn.state === "started");
      read();
    },
    approval: here(read), memory: here(read), compaction: here((c) => { if (c.state !== "running") read(); }), usage: here(measure),
    reset: async () => {
      refreshRooms();
      if (await read()) busy(isAnswering());
    },
  });
  form.hidden = false;
  busy(isAnswering());
  grow();
  scrollTo(0, document.body.scrollHeight);
}
document.addEventListener("DOMContentLoaded", start); // once the other scripts of the chat are here
