// The plot: the curves of the models above, one feature below. Both have the same view and cursor.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = { left: 44, right: 12, top: 10, bottom: 24 };
  const byId = (id) => document.getElementById(id);
  const { clips } = JSON.parse(byId("data").textContent);
  if (!clips.some((clip) => clip.frames.length)) return;

  // With several clips, the colour stands for the clip and the dash for the model; with one, the colour stands for the model.
  const ladder = clips.length > 1;
  const style = (clip, model) => (ladder ? ["s" + (clip % 8), "d" + (model % 3)] : ["s" + (model % 8), "d0"]);
  const severalModels = clips.some((clip) => clip.models.length > 1);
  const label = (clip, model) => (!ladder ? model.name : severalModels ? clip.name + " · " + model.name : clip.name);
  const curves = clips.flatMap((clip, c) => clip.models.map((model, m) => ({
    clip: c, frames: clip.frames, rate: clip.rate, values: model.values, band: model.band,
    name: label(clip, model), classes: style(c, m), shown: true,
  })));
  // All clips have the cuts of their reference, as far as they go.
  const cuts = clips.map((clip) => clip.cuts).reduce((a, b) => (b.length > a.length ? b : a));
  const featureNames = [...new Set(clips.flatMap((clip) => clip.features.map((feature) => feature.name)))];
  const whole = [
    Math.min(...clips.filter((c) => c.frames.length).map((c) => c.frames[0])),
    Math.max(...clips.filter((c) => c.frames.length).map((c) => c.frames[c.frames.length - 1])),
  ];
  if (whole[0] === whole[1]) { whole[0] -= 0.5; whole[1] += 0.5; }
  const state = { view: [...whole], cursor: null, drag: null, fromZero: false, feature: null };

  const make = (parent, name, attributes = {}, classes = []) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (classes.length) node.classList.add(...classes);
    return parent.appendChild(node);
  };
  const html = (parent, name, text, ...classes) => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (classes.length) node.classList.add(...classes);
    return parent.appendChild(node);
  };

  const featureCurves = () => clips.flatMap((clip, c) => {
    const found = clip.features.find((feature) => feature.name === state.feature);
    const shown = curves.some((curve) => curve.clip === c && curve.shown);
    return found && shown ? [{ clip: c, frames: clip.frames, values: found.values, name: found.name + (ladder ? " · " + clip.name : ""),
      classes: ladder ? style(c, 0) : ["s2", "d0"] }] : [];
  });

  const panels = [
    {
      svg: byId("scores-plot"), curves: () => curves.filter((curve) => curve.shown),
      range: (shown) => {
        const range = scoreRange(extent(shown, state.view));
        return state.fromZero ? [Math.min(0, range[0]), Math.max(100, range[1])] : range;
      },
    },
    { svg: byId("feature-plot"), curves: featureCurves, range: (shown) => padded(extent(shown, state.view)) },
  ];

  function draw(panel) {
    const { svg } = panel;
    const { width, height } = svg.getBoundingClientRect();
    if (!width) return;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const right = width - MARGIN.right, bottom = height - MARGIN.bottom, inner = right - MARGIN.left;
    const shown = panel.curves(), [low, high] = panel.range(shown);
    const x = (frame) => MARGIN.left + ((frame - state.view[0]) / (state.view[1] - state.view[0])) * inner;
    const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - MARGIN.top);
    panel.scale = { x, y, left: MARGIN.left, right, inner };

    const { all, step } = ticks(low, high, height / 55);
    const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9) + (step / 10 ** Math.floor(Math.log10(step)) === 2.5 ? 1 : 0)));
    for (const value of all) {
      make(svg, "line", { x1: MARGIN.left, x2: right, y1: y(value), y2: y(value) }, ["grid"]);
      make(svg, "text", { x: MARGIN.left - 8, y: y(value) + 4, "text-anchor": "end" }).textContent = value.toFixed(decimals);
    }
    make(svg, "line", { x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }, ["axis"]);
    for (const frame of frameTicks(state.view[0], state.view[1], width / 110)) {
      if (x(frame) < MARGIN.left + 14) continue;
      make(svg, "text", { x: x(frame), y: height - 6, "text-anchor": "middle" }).textContent = frame;
    }
    make(svg, "text", { x: MARGIN.left - 8, y: height - 6, "text-anchor": "end" }).textContent = "frame";
    for (const frame of cutsInView(cuts, state.view, inner)) make(svg, "line", { x1: x(frame), x2: x(frame), y1: MARGIN.top, y2: bottom }, ["cut"]);
    const clip = make(make(svg, "defs"), "clipPath", { id: svg.id + "-clip" });
    make(clip, "rect", { x: MARGIN.left, y: 0, width: inner, height: bottom + 1 });
    const inside = make(svg, "g", { "clip-path": `url(#${svg.id}-clip)` });
    for (const curve of shown) if (curve.band) band(inside, curve, x, y, inner);
    for (const curve of shown) line(inside, curve, x, y, inner);
    panel.overlay = make(svg, "g", {}, ["overlay"]);
    point(panel);
  }

  const at = (x, y) => x.toFixed(1) + " " + y.toFixed(1);
  const area = (top, bottom) => "M" + [...top, ...bottom.reverse()].join("L") + "Z";

  function line(parent, curve, x, y, inner) {
    if (crowded(curve.frames, state.view, inner)) {
      const all = columns(curve.frames, curve.values, state.view, inner);
      const side = (key) => all.map((column) => at(x(column.frame), y(column[key])));
      make(parent, "path", { d: area(side("high"), side("low")) }, ["envelope", ...curve.classes]);
      make(parent, "path", { d: "M" + side("mean").join("L") }, ["curve", "dense", ...curve.classes]);
      return;
    }
    const [from, to] = rowsInView(curve.frames, state.view);
    let path = "", pen = "M";
    for (let row = from; row < to; row++) {
      if (curve.values[row] === null) { pen = "M"; continue; }
      path += pen + at(x(curve.frames[row]), y(curve.values[row]));
      pen = "L";
    }
    make(parent, "path", { d: path }, ["curve", ...curve.classes]);
    if (to - from === 1) make(parent, "circle", { cx: x(curve.frames[from]), cy: y(curve.values[from]), r: 5 }, ["dot", ...curve.classes]);
  }

  function band(parent, curve, x, y, inner) {
    const [from, to] = rowsInView(curve.frames, state.view);
    const side = (values, key) => crowded(curve.frames, state.view, inner)
      ? columns(curve.frames, values, state.view, inner).map((column) => at(x(column.frame), y(column[key])))
      : values.slice(from, to).map((value, i) => at(x(curve.frames[from + i]), y(value)));
    make(parent, "path", { d: area(side(curve.band.high, "high"), side(curve.band.low, "low")) }, ["band", ...curve.classes]);
  }

  // The cursor, dots and the selection are in a layer of their own, so that moving the mouse does not redraw the curves.
  function point(panel) {
    const { svg, overlay, scale } = panel;
    if (!overlay) return;
    overlay.replaceChildren();
    const height = svg.getBoundingClientRect().height - MARGIN.bottom;
    if (state.drag) {
      const [from, to] = [...state.drag].sort((a, b) => a - b).map(scale.x);
      make(overlay, "rect", { x: from, y: MARGIN.top, width: to - from, height: height - MARGIN.top }, ["shade"]);
    }
    if (state.cursor === null) return;
    make(overlay, "line", { x1: scale.x(state.cursor), x2: scale.x(state.cursor), y1: MARGIN.top, y2: height }, ["cursor"]);
    for (const curve of panel.curves()) {
      const row = nearest(curve.frames, state.cursor);
      if (row < 0 || curve.frames[row] !== state.cursor || curve.values[row] === null) continue;
      make(overlay, "circle", { cx: scale.x(state.cursor), cy: scale.y(curve.values[row]), r: 4.5 }, ["dot", ...curve.classes]);
    }
  }

  const tip = byId("tip");
  function tell() {
    tip.hidden = state.cursor === null || state.drag !== null;
    if (tip.hidden) return;
    tip.replaceChildren();
    const rate = clips.map((clip) => clip.rate).find((value) => value);
    const head = html(tip, "p");
    html(head, "b", "Frame " + state.cursor);
    if (rate) head.append(" · " + clock(state.cursor / rate));
    if (cuts.length) head.append(" · shot " + (lowerBound(cuts, state.cursor + 1) + 1));
    const list = html(tip, "ul");
    for (const [panel, decimals] of [[panels[0], 2], [panels[1], 4]]) {
      for (const curve of panel.curves()) {
        const row = nearest(curve.frames, state.cursor);
        if (row < 0 || curve.frames[row] !== state.cursor) continue;
        const item = html(list, "li");
        html(item, "i", "", "swatch", ...curve.classes);
        html(item, "span", curve.name);
        const ends = curve.band ? ` (${curve.band.low[row].toFixed(2)} to ${curve.band.high[row].toFixed(2)})` : "";
        html(item, "b", (curve.values[row] === null ? "infinite" : curve.values[row].toFixed(decimals)) + ends);
      }
    }
    const box = byId("plot").getBoundingClientRect(), plot = panels[0].svg.getBoundingClientRect();
    const middle = panels[0].scale.x(state.cursor) + plot.left - box.left;
    const room = tip.offsetWidth + 18;
    tip.style.left = Math.max(4, middle + room > box.width ? middle - room : middle + 18) + "px";
    tip.style.top = plot.top - box.top + 14 + "px";
  }

  const drawAll = () => { panels.forEach(draw); tell(); byId("reset").disabled = state.view[0] === whole[0] && state.view[1] === whole[1]; };
  const pointAll = () => { panels.forEach(point); tell(); };
  const look = (from, to) => {
    const span = Math.min(Math.max(to - from, 4), whole[1] - whole[0]);
    const start = Math.min(Math.max((from + to - span) / 2, whole[0]), whole[1] - span);
    state.view = [start, start + span];
    drawAll();
  };
  const nearestFrame = (frame) => {
    const candidates = panels[0].curves().map((curve) => curve.frames[nearest(curve.frames, frame)]).filter((f) => f !== undefined);
    return candidates.length ? candidates.reduce((a, b) => (Math.abs(b - frame) < Math.abs(a - frame) ? b : a)) : null;
  };

  function listen(panel) {
    const { svg } = panel;
    const frameAt = (event) => {
      const { left, inner } = panel.scale;
      const share = (event.clientX - svg.getBoundingClientRect().left - left) / inner;
      return state.view[0] + Math.min(1, Math.max(0, share)) * (state.view[1] - state.view[0]);
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      svg.setPointerCapture(event.pointerId);
      state.drag = [frameAt(event), frameAt(event)];
    });
    svg.addEventListener("pointermove", (event) => {
      if (state.drag) state.drag[1] = frameAt(event);
      state.cursor = nearestFrame(frameAt(event));
      pointAll();
    });
    const release = (event, zoom) => {
      if (!state.drag) return;
      const [from, to] = state.drag.sort((a, b) => a - b);
      state.drag = null;
      const wide = panel.scale.x(to) - panel.scale.x(from) > 6;
      if (zoom && wide) look(from, to); else pointAll();
    };
    svg.addEventListener("pointerup", (event) => release(event, true));
    svg.addEventListener("pointercancel", (event) => release(event, false));
    svg.addEventListener("pointerleave", () => { if (!state.drag) { state.cursor = null; pointAll(); } });
    svg.addEventListener("dblclick", () => look(...whole));
  }

  function step(by) {
    const frames = (panels[0].curves()[0] || curves[0]).frames;
    const from = state.cursor === null ? lowerBound(frames, state.view[0]) - by : nearest(frames, state.cursor);
    state.cursor = frames[Math.min(frames.length - 1, Math.max(0, from + by))];
    const [low, high] = state.view, span = high - low;
    if (state.cursor < low || state.cursor > high) look(state.cursor - span / 2, state.cursor + span / 2); else pointAll();
  }
  function zoom(factor) {
    const [low, high] = state.view, middle = state.cursor === null ? (low + high) / 2 : state.cursor;
    look(middle - (middle - low) * factor, middle + (high - middle) * factor);
  }
  panels[0].svg.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 10 : 1;
    const action = { ArrowLeft: () => step(-far), ArrowRight: () => step(far), "+": () => zoom(0.5), "-": () => zoom(2),
      Escape: () => { state.cursor = null; look(...whole); } }[event.key];
    if (action) { event.preventDefault(); action(); }
  });

  function chip(parent, name, classes, pressed, press) {
    const button = html(parent, "button");
    button.type = "button";
    if (classes) html(button, "i", "", "swatch", ...classes);
    button.append(name);
    button.setAttribute("aria-pressed", pressed);
    button.addEventListener("click", () => press(button));
    return button;
  }
  for (const curve of curves) {
    chip(byId("curves"), curve.name, curve.classes, true, (button) => {
      curve.shown = !curve.shown;
      button.setAttribute("aria-pressed", curve.shown);
      drawAll();
    });
  }
  for (const name of featureNames) {
    chip(byId("features"), name, null, false, (button) => {
      state.feature = state.feature === name ? null : name;
      for (const other of byId("features").children) other.setAttribute("aria-pressed", other === button && state.feature !== null);
      panels[1].svg.toggleAttribute("hidden", state.feature === null);
      drawAll();
    });
  }
  byId("feature-controls").hidden = !featureNames.length;
  byId("scale").addEventListener("click", (event) => {
    state.fromZero = !state.fromZero;
    event.currentTarget.setAttribute("aria-pressed", state.fromZero);
    drawAll();
  });
  byId("reset").addEventListener("click", () => look(...whole));
  for (const button of document.querySelectorAll("button[data-frame]")) {
    button.addEventListener("click", () => {
      const frame = Number(button.dataset.frame), rate = clips[Number(button.dataset.clip)].rate || 25;
      state.cursor = button.dataset.end ? null : frame;
      if (button.dataset.end) look(frame, Number(button.dataset.end)); else look(frame - rate * 2, frame + rate * 2);
      byId("plot").scrollIntoView({ block: "center" });
    });
  }

  byId("plot").hidden = false;
  panels.forEach(listen);
  new ResizeObserver(drawAll).observe(panels[0].svg);
  window.addEventListener("beforeprint", drawAll);
  drawAll();
})();
