// The preview follows the controls: what is typed is simulated after a moment, and an older
// simulation is given up.
"use strict";

const settings = document.getElementById("settings");
const preview = document.getElementById("preview");
const shown = new URLSearchParams(new FormData(settings)); // the current values, by key
let wait = 0;
let running = null;

const range = ["from", "to"]; // of the messages that are compared; no settings

// typed returns the values that were changed.
function typed() {
  return [...new FormData(settings)].filter(([key, value]) => shown.get(key) !== value);
}

function typedSettings() {
  return typed().filter(([key]) => !range.includes(key));
}

async function simulate() {
  running?.abort();
  const mine = running = new AbortController();
  preview.setAttribute("aria-busy", "true");
  const from = new URL(settings.dataset.preview, location.href);
  from.search = new URLSearchParams(typed());
  try {
    const answer = await fetch(from, { signal: mine.signal });
    const text = await answer.text();
    if (answer.ok) {
      preview.innerHTML = text; // made by our own pages, which escape everything
    } else {
      preview.innerHTML = '<p class="note warn"></p>';
      preview.firstChild.textContent = JSON.parse(text).detail;
    }
  } catch (error) {
    if (error.name === "AbortError") return;
    preview.textContent = "The bot does not answer.";
  }
  if (running === mine) preview.removeAttribute("aria-busy");
}

function mark(control) {
  if (control.nextElementSibling?.tagName === "OUTPUT") control.nextElementSibling.value = control.value;
  control.closest("tr")?.classList.toggle("changed", control.value !== shown.get(control.name));
}

settings.addEventListener("input", (e) => {
  mark(e.target);
  clearTimeout(wait);
  wait = setTimeout(simulate, 350);
});
settings.addEventListener("submit", (e) => {
  e.preventDefault();
  clearTimeout(wait);
  if (e.submitter?.id === "try") {
    simulate();
    return;
  }
  const reset = e.submitter?.value;
  const set = reset ? { [reset]: null } : Object.fromEntries(typedSettings());
  change("PUT", settings.dataset.api, set).then(() => noteOn(location.pathname, "Settings changed."), (error) => note(error.message));
});
