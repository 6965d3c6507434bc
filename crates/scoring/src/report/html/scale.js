"use strict";
// Pure functions: none of them accesses the page.

/** Round values for about `count` lines between low and high. */
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough) || power * 10;
  const all = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) all.push(i * step);
  return { all, step };
}

/** Ticks at whole frames. */
function frameTicks(low, high, count) {
  const { all, step } = ticks(low, high, count);
  return step >= 1 ? all : ticks(Math.ceil(low), Math.max(high, low + 1), high - low).all.filter((v) => Number.isInteger(v));
}

/** The first index whose frame is not before `frame`. */
function lowerBound(frames, frame) {
  let low = 0, high = frames.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (frames[middle] < frame) low = middle + 1; else high = middle;
  }
  return low;
}

/** The index of the frame nearest to `frame`; -1 if there are no frames. */
function nearest(frames, frame) {
  const at = lowerBound(frames, frame);
  if (at === 0) return frames.length ? 0 : -1;
  if (at === frames.length) return at - 1;
  return frame - frames[at - 1] <= frames[at] - frame ? at - 1 : at;
}

/** The cuts to draw: none if they are so close that their lines would hide the curves. */
function cutsInView(cuts, view, width) {
  const shown = cuts.slice(lowerBound(cuts, view[0]), lowerBound(cuts, view[1]));
  return shown.length * 6 > width ? [] : shown;
}

/** The rows to draw: those in view and one on each side, so that a curve continues to the edge. */
function rowsInView(frames, view) {
  return [Math.max(0, lowerBound(frames, view[0]) - 1), Math.min(frames.length, lowerBound(frames, view[1]) + 1)];
}

/** Whether more frames are in view than a curve through each of them can show. */
function crowded(frames, view, width) {
  const [from, to] = rowsInView(frames, view);
  return to - from > width * 2;
}

/**
 * A crowded curve as one {frame, low, high, mean} for each column of pixels. So a single bad frame among two hundred
 * thousand is still seen, and drawing costs the same for every length.
 */
function columns(frames, values, view, width) {
  const [from, to] = rowsInView(frames, view);
  const perFrame = width / (view[1] - view[0] || 1);
  const all = [];
  let column = NaN, current = null;
  for (let row = from; row < to; row++) {
    const value = values[row];
    if (value === null) continue;
    const here = Math.floor((frames[row] - view[0]) * perFrame);
    if (here !== column) {
      column = here;
      current = { frame: frames[row], low: value, high: value, sum: 0, count: 0 };
      all.push(current);
    }
    if (value < current.low) current.low = value;
    if (value > current.high) current.high = value;
    current.sum += value;
    current.count += 1;
  }
  return all.map(({ frame, low, high, sum, count }) => ({ frame, low, high, mean: sum / count }));
}

/** Lowest and highest value of the curves in view. */
function extent(curves, view) {
  let low = Infinity, high = -Infinity;
  for (const { frames, values, band } of curves) {
    const [from, to] = rowsInView(frames, view);
    for (let row = from; row < to; row++) {
      if (values[row] === null) continue;
      low = Math.min(low, band ? band.low[row] : values[row]);
      high = Math.max(high, band ? band.high[row] : values[row]);
    }
  }
  return low <= high ? [low, high] : [0, 1];
}

/** An extent with padding; never of height zero. */
function padded([low, high]) {
  const room = (high - low) * 0.08 || Math.abs(high) * 0.02 || 1;
  return [low - room, high + room];
}

/** An extent for scores: with padding, but not below 0 or above 100 unless scores are there. */
function scoreRange([low, high]) {
  const missing = Math.max(0, 2 - (high - low)) / 2;
  const [from, to] = padded([low - missing, high + missing]);
  return [low >= 0 ? Math.max(0, from) : from, high <= 100 ? Math.min(100, to) : to];
}

/** Seconds as 1:05.040. */
function clock(seconds) {
  const whole = Math.round(seconds * 1000), ms = whole % 1000, s = Math.floor(whole / 1000) % 60;
  const m = Math.floor(whole / 60000) % 60, h = Math.floor(whole / 3600000);
  const two = (n) => String(n).padStart(2, "0");
  return (h ? h + ":" + two(m) : m) + ":" + two(s) + "." + String(ms).padStart(3, "0");
}
