// Changes of jobs as they happen: server-sent events, and polling where there are none.
//
// A stream begins with a bookmark. The list is read after it, so no change between the two is lost. A hidden tab holds no
// stream: a browser has six connections for all its tabs, and a list that nobody sees needs none.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api";
import type { Job } from "./types";

export type LiveState = "connecting" | "live" | "offline";

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
/** Changes are shown together at this interval, however many there are. */
const BATCH_MS = 150;

interface StreamHandlers {
  /** The stream is open: everything that changes from now on will be passed to `changed`. */
  opened: () => void;
  changed: (jobs: Job[]) => void;
  state: (state: LiveState) => void;
}

/** Follows the changes of jobs with this query until the returned function is called. */
function followJobs(query: string, handlers: StreamHandlers): () => void {
  let source: EventSource | undefined;
  let retry = FIRST_RETRY_MS;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let batchTimer: ReturnType<typeof setTimeout> | undefined;
  let batch = new Map<string, Job>();
  let seenBookmark = false;

  const flush = () => {
    batchTimer = undefined;
    const jobs = [...batch.values()];
    batch = new Map();
    handlers.changed(jobs);
  };
  const close = () => {
    clearTimeout(retryTimer);
    clearTimeout(batchTimer);
    batchTimer = undefined;
    source?.close();
    source = undefined;
  };
  const open = () => {
    close();
    batch = new Map();
    seenBookmark = false;
    handlers.state("connecting");
    source = new EventSource(`/v1/events?changesOnly=true&progress=true&${query}`);
    source.addEventListener("bookmark", () => {
      retry = FIRST_RETRY_MS;
      handlers.state("live");
      if (!seenBookmark) {
        seenBookmark = true;
        handlers.opened();
      }
    });
    source.addEventListener("job", (event) => {
      const job = JSON.parse((event as MessageEvent<string>).data) as Job;
      batch.set(job.id, job);
      batchTimer ??= setTimeout(flush, BATCH_MS);
    });
    source.addEventListener("error", () => {
      // The list is read again whatever ended the stream: it shows what was missed, and notices the end of the session.
      close();
      handlers.state("offline");
      retryTimer = setTimeout(open, retry * (0.5 + Math.random() / 2));
      retry = Math.min(retry * 2, MAX_RETRY_MS);
      handlers.opened();
    });
  };
  const visibility = () => {
    if (document.hidden) close();
    else if (source === undefined) open();
  };
  document.addEventListener("visibilitychange", visibility);
  if (!document.hidden) open();
  return () => {
    document.removeEventListener("visibilitychange", visibility);
    close();
  };
}

export function useJobStream(query: string, opened: () => void, changed: (jobs: Job[]) => void): LiveState {
  const [state, setState] = useState<LiveState>("connecting");
  const handlers = useRef({ opened, changed });
  handlers.current = { opened, changed };
  useEffect(
    () =>
      followJobs(query, {
        opened: () => handlers.current.opened(),
        changed: (jobs) => handlers.current.changed(jobs),
        state: setState,
      }),
    [query],
  );
  return state;
}

export interface Polled<T> {
  value: T | undefined;
  error: ApiError | undefined;
  /** When `value` was read. */
  at: number;
  refresh: () => Promise<void>;
}

/** Reads a value now, and again at the interval that it asks for; `undefined` stops. A hidden tab waits. */
export function usePolled<T>(
  key: string,
  read: () => Promise<T>,
  interval: (value: T | undefined) => number | undefined,
): Polled<T> {
  const [polled, setPolled] = useState<Omit<Polled<T>, "refresh">>({ value: undefined, error: undefined, at: 0 });
  const functions = useRef({ read, interval });
  functions.current = { read, interval };
  const latest = useRef(key);
  latest.current = key;
  const value = useRef<T | undefined>(undefined);

  const refresh = useCallback(async () => {
    const asked = latest.current;
    try {
      const answer = await functions.current.read();
      if (latest.current !== asked) return;
      value.current = answer;
      setPolled({ value: answer, error: undefined, at: Date.now() });
    } catch (error) {
      if (latest.current !== asked) return;
      const problem = error instanceof ApiError ? error : new ApiError(0, String(error));
      setPolled((before) => ({ ...before, error: problem }));
    }
  }, []);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stopped = false;
    value.current = undefined;
    setPolled({ value: undefined, error: undefined, at: 0 });
    const step = async () => {
      if (!document.hidden) await refresh();
      const wait = functions.current.interval(value.current);
      if (!stopped && wait !== undefined) timer = setTimeout(step, wait);
    };
    const shown = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      void step();
    };
    void step();
    document.addEventListener("visibilitychange", shown);
    return () => {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [key, refresh]);

  return { ...polled, refresh };
}
