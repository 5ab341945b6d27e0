// What is live on the pages: parts that show a conversation are read again when something
// happens in it. Without this script the pages show what was so when they were loaded.
"use strict";

const connection = document.getElementById("connection");
const parts = [...document.querySelectorAll("[data-live]")];

// purpose tells a link, a summary or a button from the others in its part.
function purpose(e) {
  return e.href ?? e.parentElement.dataset.src ?? e.form?.dataset.api + e.form?.dataset.body;
}

// refresh reads a part again, at most twice a second, and keeps open what people opened, and the
// keyboard where it is.
const waiting = new Map();
function refresh(part) {
  if (waiting.has(part)) return;
  waiting.set(part, setTimeout(async () => {
    waiting.delete(part);
    if (part.querySelector("input:focus")) { // what is being typed stays
      refresh(part);
      return;
    }
    const from = new URL(part.dataset.src, location.href);
    from.searchParams.set("fragment", "live");
    try {
      const answer = await fetch(from, { headers: { Accept: "text/html" } });
      if (answer.status === 401) location.reload(); // which leads to the login
      if (!answer.ok) return;
      const text = await answer.text();
      const open = new Set([...part.querySelectorAll("details[open]")].map((d) => d.dataset.src));
      const focused = part.contains(document.activeElement) && purpose(document.activeElement);
      part.innerHTML = text; // made by our own pages, which escape everything
      for (const d of part.querySelectorAll("details")) if (open.has(d.dataset.src)) d.open = true;
      openable(part);
      if (focused) [...part.querySelectorAll("a, button, summary")].find((e) => purpose(e) === focused)?.focus({ preventScroll: true });
    } catch { /* the stream says that the bot is gone */ }
  }, 500));
}

// openable has a summary's messages read when it is opened, or was before this script ran.
function openable(root) {
  for (const d of root.querySelectorAll("details[data-src]")) {
    d.addEventListener("toggle", () => readInto(d));
    readInto(d);
  }
}

async function readInto(d) {
  if (!d.open || d.dataset.read) return;
  d.dataset.read = "yes";
  const answer = await fetch(d.dataset.src, { headers: { Accept: "text/html" } });
  if (!answer.ok) { // a newer summary has replaced it
    delete d.dataset.read;
    return;
  }
  const body = document.createElement("div");
  body.innerHTML = await answer.text();
  openable(body);
  d.replaceChildren(d.querySelector("summary"), body);
}

function concerned(name) {
  for (const part of parts) {
    const of = part.dataset.live;
    if (of === "*" || of === "conversations" || of === name) refresh(part);
  }
}

function logged() {
  for (const part of parts) if (part.dataset.live === "log") refresh(part);
}

// watch follows events while the page is visible: a browser has few connections to one server, and
// every hidden tab would keep one. What happened before a stream opened is read again, as after
// "reset". A browser reconnects by itself, but not after an answer that is no stream: a proxy's while
// the bot restarts, or that the session has ended.
function watch(address, handlers) {
  let events = null;
  const say = (text, state) => { connection.textContent = text; connection.className = "live " + state; };
  const open = () => {
    if (document.hidden || events !== null) return;
    const opened = events = new EventSource(address);
    for (const [kind, handler] of Object.entries(handlers)) events.addEventListener(kind, (e) => handler(JSON.parse(e.data)));
    events.addEventListener("open", () => {
      say("live", "on");
      handlers.reset();
    });
    events.addEventListener("error", () => {
      say("the bot does not answer", "off");
      if (opened !== events || opened.readyState !== EventSource.CLOSED) return;
      events = null;
      handlers.reset();
      setTimeout(open, 3000);
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      events?.close();
      events = null;
    }
    open();
  });
  open();
}

// change makes a change through the API. It returns the answer, or throws what is wrong.
async function change(method, path, body) {
  const answer = await fetch(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }).catch(() => null);
  const said = await answer?.json().catch(() => null);
  if (!answer?.ok) throw new Error(said?.detail ?? "The bot does not answer.");
  return said ?? {};
}

// act sends a form that describes a change, and returns what to tell, and the page to tell it on.
async function act(form) {
  const typed = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
  const said = await change(form.dataset.method, form.dataset.api, { ...JSON.parse(form.dataset.body), ...typed });
  const page = form.dataset.next && said.id ? form.dataset.next + said.id : location.pathname;
  return [said.reason || form.dataset.done, page];
}

// note shows a sentence on this page, noteOn on another one.
const flash = document.getElementById("flash");
function note(text) {
  flash.textContent = text;
  flash.hidden = text === "";
}
function noteOn(page, text) {
  sessionStorage.setItem("note", text);
  location.assign(page);
}
note(sessionStorage.getItem("note") ?? "");
sessionStorage.removeItem("note");

document.addEventListener("submit", (e) => {
  if (e.defaultPrevented || !e.target.dataset.method) return;
  e.preventDefault();
  act(e.target).then(([text, page]) => noteOn(page, text), (error) => note(error.message));
});

openable(document);
if (parts.length > 0) {
  const follow = (event) => concerned(event.conversation);
  const isLog = parts.some((part) => part.dataset.live === "log");
  watch(isLog ? "/api/events?kinds=incident,log,reset" : "/api/events", {
    reset: () => parts.forEach(refresh),
    turn: follow, usage: follow, compaction: follow, memory: follow, approval: follow, task: (t) => { follow(t); concerned(t.parent); },
    incident: (i) => { follow(i); logged(); }, log: logged,
  });
}
