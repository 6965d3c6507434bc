// Attempts as bars over time. uPlot gives the time axis, its labels in the viewer's zone, and zoom; the bars are drawn between
// its scales.

import uPlot from "uplot";
import type { Attempt } from "../types";

const ROW_PX = 22;
const MAX_ROWS = 12;
/** An attempt that failed at once is still visible. */
const MIN_BAR_PX = 3;

const SECOND = 1;
const MINUTE = 60;
const DAY = 86_400;

/** The label of an instant where two ticks are this many seconds apart. */
function tickFormat(apart: number): Intl.DateTimeFormat {
  if (apart >= DAY) return new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  const time: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  if (apart < MINUTE) time.second = "2-digit";
  if (apart < SECOND) time.fractionalSecondDigits = 3;
  return new Intl.DateTimeFormat(undefined, time);
}

interface BarSpan {
  attempt: Attempt;
  from: number;
  to: number;
}

function tone(attempt: Attempt): string {
  switch (attempt.outcome) {
    case "completed":
      return "--good";
    case "failed":
    case "expired":
      return "--bad";
    case undefined:
      return "--active";
    default:
      return "--idle";
  }
}

export class Timeline {
  private readonly plot: uPlot;
  private readonly observer: ResizeObserver;
  private spans: BarSpan[] = [];
  private readonly redraw = () => this.plot.redraw(false, true);

  constructor(private readonly box: HTMLElement) {
    const text = () => this.colour("--soft");
    const line = () => this.colour("--line");
    const options: uPlot.Options = {
      width: Math.max(200, box.clientWidth),
      height: ROW_PX * 2,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
      scales: { x: { time: true }, y: { range: () => [0, Math.max(1, this.rows())] } },
      axes: [
        {
          stroke: text,
          grid: { stroke: line, width: 1 },
          ticks: { stroke: line, size: 4 },
          font: "11px system-ui",
          size: 26,
          gap: 3,
          space: 110,
          values: (_, ticks, __, ___, apart) => {
            const format = tickFormat(apart);
            return ticks.map((tick) => format.format(tick * 1000));
          },
        },
        { show: false },
      ],
      series: [{}, { show: true, stroke: "transparent", points: { show: false } }],
      hooks: { draw: [(plot) => this.draw(plot)] },
      padding: [4, 40, 0, 8],
    };
    this.plot = new uPlot(options, [[], []], box);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(box);
    addEventListener("vmafx:theme", this.redraw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.redraw);
  }

  show(submitted: number, attempts: Attempt[]): void {
    const now = Date.now();
    this.spans = attempts.map((attempt) => ({
      attempt,
      from: Date.parse(attempt.startedAt) / 1000,
      to: (attempt.endedAt === undefined ? now : Date.parse(attempt.endedAt)) / 1000,
    }));
    const end = Math.max(...this.spans.map((span) => span.to), submitted / 1000 + 1);
    this.resize();
    this.plot.setData([
      [submitted / 1000, end],
      [0, 0],
    ]);
  }

  destroy(): void {
    removeEventListener("vmafx:theme", this.redraw);
    matchMedia("(prefers-color-scheme: dark)").removeEventListener("change", this.redraw);
    this.observer.disconnect();
    this.plot.destroy();
  }

  /** A colour of the style sheet, as the canvas takes it: resolved for light or dark. */
  private colour(name: string): string {
    this.box.style.color = `var(${name})`;
    return getComputedStyle(this.box).color;
  }

  private rows(): number {
    return Math.min(MAX_ROWS, this.spans.length);
  }

  private resize(): void {
    const width = Math.max(200, this.box.clientWidth);
    const height = this.rows() * ROW_PX + 36;
    if (this.plot.width !== width || this.plot.height !== height) this.plot.setSize({ width, height });
  }

  private draw(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const shown = this.spans.slice(-MAX_ROWS);
    const height = bbox.height / Math.max(1, shown.length);
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.font = `${11 * ratio}px system-ui`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    shown.forEach((span, row) => {
      const left = plot.valToPos(span.from, "x", true);
      const width = Math.max(MIN_BAR_PX * ratio, plot.valToPos(span.to, "x", true) - left);
      const top = bbox.top + row * height + height * 0.18;
      ctx.fillStyle = this.colour(tone(span.attempt));
      ctx.beginPath();
      ctx.roundRect(left, top, width, height * 0.64, 3 * ratio);
      ctx.fill();
      const label = `${span.attempt.number} · ${span.attempt.node}${span.attempt.reason ? ` · ${span.attempt.reason}` : ""}`;
      const size = ctx.measureText(label).width;
      const gap = 6 * ratio;
      const inside = size + 2 * gap <= width;
      // A label that fits neither inside nor behind its bar goes before it.
      const after = left + width + gap + size <= bbox.left + bbox.width;
      ctx.fillStyle = this.colour(inside ? "--on-bar" : "--ink");
      ctx.fillText(label, inside ? left + gap : after ? left + width + gap : left - gap - size, top + height * 0.32);
    });
    ctx.restore();
  }
}
