// Numbers, times and addresses as people read them.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The two largest units: `2 h 5 min`, `42 s`. */
export function duration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  const two = (large: number, name: string, small: number, smaller: string) => {
    const rest = Math.floor((ms % large) / small);
    return `${Math.floor(ms / large)} ${name}${rest > 0 ? ` ${rest} ${smaller}` : ""}`;
  };
  if (ms < HOUR) return two(MINUTE, "min", SECOND, "s");
  if (ms < DAY) return two(HOUR, "h", MINUTE, "min");
  return two(DAY, "d", HOUR, "h");
}

/** One unit, for ages that tick in a table. */
export function age(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

/** In the viewer's zone, which the text names. */
export function absoluteTime(at: string): string {
  return absolute.format(new Date(at));
}

const whole = new Intl.NumberFormat(undefined);

export function count(value: number): string {
  return whole.format(value);
}

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

export function score(value: number): string {
  return value.toFixed(2);
}

/** Features have ranges from 0.01 to 100, so digits after the point depend on the size. */
export function feature(value: number): string {
  return Math.abs(value) >= 10 ? value.toFixed(3) : value.toPrecision(5);
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let index = 0;
  let scaled = value;
  while (scaled >= 1024 && index < units.length - 1) {
    scaled /= 1024;
    index += 1;
  }
  return `${index === 0 ? scaled : scaled.toFixed(1)} ${units[index]}`;
}

/** The file name of a clip, without the query of a presigned address. */
export function fileName(uri: string): string {
  const path = uri.split(/[?#]/, 1)[0] ?? uri;
  return path.slice(path.replace(/\/+$/, "").lastIndexOf("/") + 1) || uri;
}

/** The name of a model: that of its file or repository. */
export function modelName(model: string): string {
  if (model === "") return "default";
  return model.includes("/") ? fileName(model) : model;
}
