// The address of the page: what it shows, and what the user has filtered, so that links can be pasted.

import { useEffect, useState } from "preact/hooks";

export interface Location {
  path: string;
  query: URLSearchParams;
}

const CHANGED = "vmafx:navigated";

function current(): Location {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Goes to an address of this page. `state` stays with the entry of the history. */
export function navigate(to: string, options: { replace?: boolean; state?: unknown } = {}): void {
  if (options.replace) history.replaceState(options.state ?? null, "", to);
  else {
    history.pushState(options.state ?? null, "", to);
    scrollTo(0, 0);
  }
  dispatchEvent(new Event(CHANGED));
}

export function useLocation(): Location {
  const [at, setAt] = useState(current);
  useEffect(() => {
    const update = () => setAt(current());
    addEventListener("popstate", update);
    addEventListener(CHANGED, update);
    return () => {
      removeEventListener("popstate", update);
      removeEventListener(CHANGED, update);
    };
  }, []);
  return at;
}

/** Follows a link within the page, unless the user wants it in another tab. */
export function followLink(event: MouseEvent): void {
  const link = event.currentTarget as HTMLAnchorElement;
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  navigate(link.pathname + link.search);
}

/** The path to return to after a sign-in; never one of another site. */
export function returnPath(query: URLSearchParams): string {
  const wanted = query.get("return") ?? "/jobs";
  try {
    const url = new URL(wanted, location.origin);
    const here = url.origin === location.origin && /^\/(jobs|nodes)?(\/|$)/.test(url.pathname);
    return here ? url.pathname + url.search : "/jobs";
  } catch {
    return "/jobs";
  }
}
