// The list of chats: found while people type, with marks at those with something new. What was read is known to this
// browser only. On a small screen a button opens it.
"use strict";

const rooms = document.getElementById("rooms");
const roomList = document.getElementById("roomlist");
const find = document.getElementById("find");
const roomsOpen = document.getElementById("rooms-open");

const seenKey = "seen:";
function seen(channel) {
  try {
    return Number(localStorage.getItem(seenKey + channel) ?? NaN);
  } catch { // people may have switched storage off
    return NaN;
  }
}
function see(channel, newest) {
  try {
    localStorage.setItem(seenKey + channel, newest);
  } catch { /* nothing is marked then */ }
}

// markUnread marks the chats that have messages since they were last open here. What was there before this browser knew a chat counts as read.
function markUnread() {
  for (const room of roomList.querySelectorAll("[data-channel]")) {
    const newest = Number(room.dataset.newest);
    if (room.dataset.channel === conversation && !document.hidden || Number.isNaN(seen(room.dataset.channel))) see(room.dataset.channel, newest);
    const unread = newest > seen(room.dataset.channel);
    room.classList.toggle("unread", unread);
    const mark = room.querySelector(".new");
    if (unread && !mark) {
      const sign = document.createElement("span");
      sign.className = "new";
      sign.textContent = "new";
      room.querySelector(".called").after(sign);
    } else if (!unread) {
      mark?.remove();
    }
  }
}

let listing = 0;
let listLater = null;
function refreshRooms() {
  listLater ??= setTimeout(async () => {
    listLater = null;
    const mine = ++listing;
    const from = new URL(rooms.dataset.src, location.href);
    if (find.elements.find.value.trim() !== "") from.searchParams.set("find", find.elements.find.value.trim());
    const answer = await fetch(from, { headers: { Accept: "text/html" } }).catch(() => null);
    if (!answer?.ok) return;
    const text = await answer.text();
    if (mine !== listing) return;
    const open = roomList.querySelector("details")?.open;
    const focused = roomList.contains(document.activeElement) ? document.activeElement.href : null;
    roomList.innerHTML = text; // made by our own pages, which escape everything
    const archive = roomList.querySelector("details");
    if (archive && open) archive.open = true;
    if (focused) [...roomList.querySelectorAll("a")].find((a) => a.href === focused)?.focus({ preventScroll: true });
    markUnread();
  }, 200);
}

find.addEventListener("submit", (e) => {
  const found = roomList.querySelector("a"); // Enter opens the first
  e.preventDefault();
  if (found) location.assign(found.href);
});
find.addEventListener("input", refreshRooms);
document.addEventListener("visibilitychange", markUnread);

function openRooms(open) {
  rooms.classList.toggle("open", open);
  roomsOpen.setAttribute("aria-expanded", String(open));
}
roomsOpen.hidden = false;
roomsOpen.addEventListener("click", () => {
  openRooms(!rooms.classList.contains("open"));
  if (rooms.classList.contains("open")) rooms.querySelector("a").focus();
});
rooms.addEventListener("keydown", (e) => {
  if (e.key !== "Escape" || !rooms.classList.contains("open")) return;
  openRooms(false);
  roomsOpen.focus();
});
document.addEventListener("click", (e) => {
  if (!rooms.contains(e.target) && e.target !== roomsOpen) openRooms(false);
});
markUnread();
