// The table of memories: several are changed together.
"use strict";

const memories = document.getElementById("memories");
if (memories) {
  const boxes = [...memories.querySelectorAll("input[name=id]")];
  const bar = memories.querySelector(".bulk");
  const all = document.getElementById("all");
  const chosen = () => boxes.filter((box) => box.checked);

  const show = () => {
    const n = chosen().length;
    document.getElementById("selected").textContent = n === 0 ? "" : `${n} selected`;
    for (const button of bar.querySelectorAll("button")) button.disabled = n === 0;
    all.checked = n === boxes.length;
    all.indeterminate = n > 0 && n < boxes.length;
  };

  // changeEach makes the change of a button to one memory after the other, and stops at the first refusal.
  const changeEach = async (button) => {
    const body = JSON.parse(button.dataset.body);
    let done = 0;
    try {
      for (const box of chosen()) {
        await change("PATCH", memories.dataset.api + box.value, body);
        done++;
      }
      noteOn(location.href, button.dataset.done);
    } catch (error) {
      note(`${done} changed. Memory ${chosen()[done].value}: ${error.message}`);
    }
  };

  bar.hidden = false;
  for (const box of boxes) box.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
  });
  memories.addEventListener("change", show);
  memories.addEventListener("submit", (e) => e.preventDefault());
  bar.addEventListener("click", (e) => {
    if (e.target.dataset.body) changeEach(e.target);
  });
  show();
}
