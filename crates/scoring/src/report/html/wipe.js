// Wipes between the reference and the distorted picture of a moment. The slider works by keyboard, and the pictures follow the
// pointer.
(() => {
  const BESIDE = "Compare by wiping", WIPING = "Show side by side";
  for (const moment of document.querySelectorAll(".moment")) {
    const pictures = moment.querySelector(".pictures");
    const [reference, distorted] = pictures.querySelectorAll("img");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = BESIDE;
    button.setAttribute("aria-expanded", "false");
    moment.querySelector("header").appendChild(button);
    let wipe = null;

    const build = () => {
      wipe = document.createElement("div");
      wipe.className = "wipe";
      const stack = wipe.appendChild(document.createElement("div"));
      stack.className = "stack";
      stack.appendChild(reference.cloneNode());
      const above = stack.appendChild(distorted.cloneNode());
      const line = stack.appendChild(document.createElement("i"));
      const label = wipe.appendChild(document.createElement("label"));
      const slider = document.createElement("input");
      Object.assign(slider, { type: "range", min: 0, max: 100, step: 1, value: 50 });
      label.append("Reference", slider, "Distorted");
      slider.setAttribute("aria-label", "Share of the reference in percent");
      const move = () => {
        above.style.clipPath = `inset(0 0 0 ${slider.value}%)`;
        line.style.left = slider.value + "%";
      };
      slider.addEventListener("input", move);
      const follow = (event) => {
        const box = stack.getBoundingClientRect();
        slider.value = Math.round(((event.clientX - box.left) / box.width) * 100);
        move();
      };
      stack.addEventListener("pointerdown", (event) => { stack.setPointerCapture(event.pointerId); follow(event); });
      stack.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse" || event.buttons) follow(event); });
      move();
      moment.appendChild(wipe);
      return slider;
    };

    const toggle = () => {
      const open = button.getAttribute("aria-expanded") === "false";
      const slider = open && !wipe ? build() : wipe.querySelector("input");
      wipe.hidden = !open;
      pictures.hidden = open;
      button.setAttribute("aria-expanded", open);
      button.textContent = open ? WIPING : BESIDE;
      if (open) slider.focus();
    };
    button.addEventListener("click", toggle);
    moment.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && wipe && !wipe.hidden) { toggle(); button.focus(); }
    });
  }
})();
