// The frame around every page: who is signed in, where to go, and what the address shows.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, api, whenSignedOut } from "./api";
import { Logo, Moon, Screen, Sun } from "./icons";
import { JobPage } from "./job/page";
import { JobsPage } from "./jobs/page";
import { Help, useKeys } from "./keyboard";
import { NodesPage } from "./nodes/page";
import { Empty, Link, Loading, Problem } from "./parts";
import { navigate, useLocation } from "./router";
import { SessionContext, mayRead, useSession } from "./session";
import { SignInPage } from "./sign-in";
import { type Theme, nextTheme, setTheme, theme } from "./theme";
import { Clock } from "./time";
import type { Session } from "./types";

/** The longest time that a timer of a browser can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function App() {
  const [session, setSession] = useState<Session>();
  const [error, setError] = useState<ApiError>();
  const { path } = useLocation();

  /** Counts questions and sign-ins, so that a late answer does not undo a sign-in. */
  const latest = useRef(0);
  const enter = useCallback((next: Session) => {
    latest.current += 1;
    setSession(next);
  }, []);
  const load = useCallback(async () => {
    latest.current += 1;
    const asked = latest.current;
    try {
      const answer = await api.session();
      if (asked !== latest.current) return;
      setSession(answer);
      setError(undefined);
    } catch (problem) {
      if (asked !== latest.current) return;
      setError(problem instanceof ApiError ? problem : new ApiError(0, String(problem)));
    }
  }, []);
  useEffect(() => {
    whenSignedOut(() => void load());
    void load();
  }, [load]);

  const expiresAt = session?.caller?.expiresAt;
  useEffect(() => {
    if (expiresAt === undefined) return;
    // A second later, when the controller too takes the token for expired.
    const wait = Date.parse(expiresAt) + 1000 - Date.now();
    if (wait > MAX_TIMER_MS) return;
    const timer = setTimeout(() => enter({ signInRequired: true }), Math.max(0, wait));
    return () => clearTimeout(timer);
  }, [expiresAt]);

  const signedOut = session !== undefined && session.caller === undefined;
  useEffect(() => {
    if (signedOut && path !== "/sign-in") {
      const here = location.pathname + location.search;
      navigate(here === "/" ? "/sign-in" : `/sign-in?return=${encodeURIComponent(here)}`, { replace: true });
    }
    if (session?.caller && path === "/") navigate("/jobs", { replace: true });
  }, [signedOut, path, session]);

  if (session === undefined) {
    return <main class="alone">{error ? <Problem error={error} retry={load} /> : <Loading lines={3} />}</main>;
  }
  if (signedOut || path === "/sign-in") return <SignInPage session={session} signedIn={enter} />;
  return (
    <SessionContext.Provider value={session}>
      <Clock>
        <Frame signOut={() => enter({ signInRequired: true })}>
          <Page path={path} />
        </Frame>
      </Clock>
    </SessionContext.Provider>
  );
}

function Page({ path }: { path: string }) {
  const session = useSession();
  if (!mayRead(session)) {
    return (
      <Empty title="Your token may not read jobs">
        <p>
          It has {session.caller?.roles.length ? `the roles ${session.caller.roles.join(", ")}` : "no roles"}. The dashboard
          needs <code>vmafx:reader</code>, <code>vmafx:writer</code> or <code>vmafx:admin</code>.
        </p>
      </Empty>
    );
  }
  const [, section, id] = path.split("/");
  if (section === "nodes") return <NodesPage />;
  if (section === "jobs" && id) return <JobPage key={id} id={decodeURIComponent(id)} />;
  return <JobsPage />;
}

function Frame({ children, signOut }: { children: preact.ComponentChildren; signOut: () => void }) {
  const { path } = useLocation();
  const session = useSession();
  const [helping, setHelping] = useState(false);
  const [colours, setColours] = useState<Theme>(theme);
  const change = () => {
    const next = nextTheme(colours);
    setTheme(next);
    setColours(next);
  };
  useKeys({
    "?": () => setHelping(true),
    t: change,
    g: () => navigate("/jobs"),
    n: () => navigate("/nodes"),
  });
  const leave = async () => {
    await api.signOut().catch(() => undefined);
    signOut();
  };
  const caller = session.caller;
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <Link to="/jobs" class="brand" label="VMAFX">
          <Logo />
          <span>VMAFX</span>
        </Link>
        <nav aria-label="Pages">
          <Link to="/jobs" current={path.startsWith("/jobs")}>
            Jobs
          </Link>
          <Link to="/nodes" current={path.startsWith("/nodes")}>
            Nodes
          </Link>
        </nav>
        <div class="who">
          {caller && (
            <span class="caller" title={`${caller.subject}\nRoles: ${caller.roles.join(", ")}`}>
              <span class="subject">{caller.subject}</span>
              <span class="tenant">{caller.tenant}</span>
            </span>
          )}
          <button type="button" class="quiet" onClick={change} title={`Colours: ${colours}`} aria-label={`Colours: ${colours}. Change`}>
            {colours === "light" ? <Sun /> : colours === "dark" ? <Moon /> : <Screen />}
          </button>
          <button type="button" class="quiet" onClick={() => setHelping(true)} title="Keys" aria-label="Keys">
            ?
          </button>
          {session.signInRequired && (
            <button type="button" onClick={leave}>
              Sign out
            </button>
          )}
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      {helping && <Help close={() => setHelping(false)} />}
    </>
  );
}
