// What several pages show in the same way.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ApiError } from "./api";
import { fileName } from "./format";
import { Copy as CopyIcon, Warning } from "./icons";
import { followLink } from "./router";
import type { Job, Status } from "./types";

interface LinkProps {
  to: string;
  class?: string;
  title?: string;
  /** For a link whose text is not always shown. */
  label?: string;
  /** Whether it leads to the page that is shown. */
  current?: boolean;
  children: ComponentChildren;
}

export function Link({ to, children, current, label, ...rest }: LinkProps) {
  return (
    <a href={to} onClick={followLink} aria-current={current ? "page" : undefined} aria-label={label} {...rest}>
      {children}
    </a>
  );
}

const STATUS_NAMES: Record<Status, string> = {
  pending: "Pending",
  running: "Running",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

export function statusName(status: Status): string {
  return STATUS_NAMES[status];
}

export function StatusBadge({ status }: { status: Status }) {
  return (
    <span class="badge" data-status={status}>
      {STATUS_NAMES[status]}
    </span>
  );
}

/** Frames done of a running attempt, 0 to 1; `undefined` while the total is unknown. */
export function progressOf(job: Job): number | undefined {
  const { progress } = job;
  if (job.status !== "running" || progress === undefined || progress.framesTotal === 0) return undefined;
  return Math.min(1, progress.framesDone / progress.framesTotal);
}

export function Bar({ value, label, tone }: { value: number; label: string; tone?: string }) {
  const percent = Math.round(value * 100);
  return (
    <span class="bar" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent} data-tone={tone}>
      <span style={{ width: `${value * 100}%` }} />
    </span>
  );
}

/** The file name of a clip; its whole address on hover. */
export function Clip({ uri }: { uri: string }) {
  return (
    <span class="clip" title={uri}>
      {fileName(uri)}
    </span>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Problem({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <Warning />
      <p>{error.message}</p>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Lines in the place of what is being loaded. */
export function Loading({ lines = 6 }: { lines?: number }) {
  return (
    <div class="loading" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}

/** A text with a button that copies it. */
export function Copyable({ text, label, block }: { text: string; label: string; block?: boolean }) {
  const [copied, setCopied] = useState(false);
  const shown = useRef<HTMLElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // Without TLS a browser has no clipboard for pages, so the user copies what is selected.
      const selection = getSelection();
      if (shown.current) selection?.selectAllChildren(shown.current);
    }
  };
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <span class={block ? "copyable block" : "copyable"}>
      <code ref={shown}>{text}</code>
      <button type="button" class="quiet" onClick={copy} aria-label={`Copy ${label}`} title={`Copy ${label}`}>
        {copied ? "Copied" : <CopyIcon />}
      </button>
    </span>
  );
}

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={close} onClick={(event) => event.target === dialog.current && close()}>
      <div class="dialog">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** The title of the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · VMAFX`;
  }, [title]);
}
