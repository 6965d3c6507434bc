// Keys, and the page that lists them.

import { useEffect, useRef } from "preact/hooks";
import { Dialog } from "./parts";

export type Keys = Record<string, (event: KeyboardEvent) => void>;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "checkbox";
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

/** Binds keys while the component is shown. They do nothing while the user types, or while a dialog is open. */
export function useKeys(keys: Keys): void {
  const bound = useRef(keys);
  bound.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
      const act = bound.current[event.key];
      if (!act) return;
      event.preventDefault();
      act(event);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

/** The row that had the focus last: a dialog or a removed button takes it away. */
let lastRow: HTMLElement | undefined;

/** Moves the focus among the rows of a list. */
export function moveFocus(selector: string, step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(selector)];
  const row = document.activeElement?.closest("tr");
  const focused = rows.findIndex((one) => one.closest("tr") === row);
  const at = focused < 0 && lastRow ? rows.indexOf(lastRow) : focused;
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
  lastRow = rows[next];
  lastRow?.focus();
}

const KEYS: [string, string][] = [
  ["j / k", "next or previous row"],
  ["Enter", "open the row"],
  ["x", "select the row"],
  ["/", "filter"],
  ["g", "jobs"],
  ["n", "nodes"],
  ["t", "colours: system, light, dark"],
  ["?", "this page"],
  ["Esc", "close a dialog, leave a field"],
];

export function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split(" / ").map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">
        Everything here is in the API too: <a href="/openapi.json">/openapi.json</a>. <a href={licences()}>Licences</a> of the
        packages in this page.
      </p>
      <div class="actions">
        <button type="button" autofocus onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

/** The page names the file, because its name changes with its content. */
function licences(): string {
  return document.querySelector<HTMLLinkElement>('link[rel="license"]')?.href ?? "/";
}
