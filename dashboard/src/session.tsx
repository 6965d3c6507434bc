// Who is signed in, and what they may do.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "./types";

export const SessionContext = createContext<Session>({ signInRequired: true });

export function useSession(): Session {
  return useContext(SessionContext);
}

export function mayWrite(session: Session): boolean {
  const roles = session.caller?.roles ?? [];
  return roles.includes("vmafx:writer") || roles.includes("vmafx:admin");
}

export function mayRead(session: Session): boolean {
  return mayWrite(session) || (session.caller?.roles.includes("vmafx:reader") ?? false);
}

/** What the tooltip of a disabled control says. */
export const NEEDS_WRITER = "Your token has no role that permits this: it needs vmafx:writer";
