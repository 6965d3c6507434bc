// The command that repeats a score on a desk.

import type { Job } from "../types";

/** Quotes a word for a POSIX shell, also one that somebody else chose. */
export function quote(word: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** A path, where the address is one of a file. */
function clip(uri: string): string {
  if (!uri.startsWith("file://")) return uri;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return uri;
  }
}

/** Whether a clip is in a file system, as `vmafx score` needs it. */
export function isLocal(uri: string): boolean {
  return uri.startsWith("file://") || !/^[a-z][a-z0-9+.-]*:\/\//i.test(uri);
}

export function scoreCommand(job: Job): string {
  const { scoring } = job;
  const words = ["vmafx", "score", "--reference", clip(scoring.reference), "--distorted", clip(scoring.distorted)];
  const { input } = scoring;
  if (input) {
    words.push("--size", `${input.width}x${input.height}`);
    words.push("--pixel-format", input.bitDepth > 8 ? `${input.pixelFormat}${input.bitDepth}le` : input.pixelFormat);
  }
  const model = job.result?.model || scoring.model;
  if (model) words.push("--model", model);
  if (scoring.features?.length) words.push("--feature", scoring.features.join(","));
  if (scoring.frameStep > 1) words.push("--subsample", String(scoring.frameStep));
  const scale = scoring.scaleTo;
  if (scale) words.push("--scale-to", typeof scale === "string" ? scale : `${scale.width}x${scale.height}`);
  if (scoring.lengthMismatch === "shortest") words.push("--shortest");
  return words.map(quote).join(" ");
}
