// One page of the list of jobs, live.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, api } from "../api";
import { type LiveState, useJobStream } from "../live";
import type { Job } from "../types";
import { type JobsFilter, listQuery, originQuery } from "./filter";
import { NO_ROWS, type Rows, applyChanges } from "./rows";

export interface JobsView {
  rows: Rows;
  /** Whether the first answer has arrived. */
  loaded: boolean;
  error: ApiError | undefined;
  live: LiveState;
  reload: () => void;
}

export function useJobs(filter: JobsFilter, token: string): JobsView {
  const [rows, setRows] = useState<Rows>(NO_ROWS);
  const [loaded, setLoaded] = useState(false);
  const [error, setError] = useState<ApiError>();
  const query = listQuery(filter, token).toString();
  const latest = useRef(query);
  latest.current = query;
  /** Changes that arrive while the list is read: whichever of both has the higher revision counts. */
  const during = useRef<Job[] | undefined>(undefined);
  const shown = useRef(rows);
  shown.current = rows;
  /** Rows of the last answer: a page that has lost half of them to the filter is read again. */
  const answered = useRef(0);
  const firstPage = token === "";

  const load = useCallback(async () => {
    during.current = [];
    try {
      const page = await api.jobs(new URLSearchParams(query));
      if (latest.current !== query) return;
      answered.current = page.jobs.length;
      const fresh = { jobs: page.jobs, nextPageToken: page.nextPageToken, hidden: new Set<string>() };
      setRows(applyChanges(fresh, during.current ?? [], filter, firstPage));
      setError(undefined);
      setLoaded(true);
    } catch (problem) {
      if (latest.current !== query) return;
      setError(problem instanceof ApiError ? problem : new ApiError(0, String(problem)));
    } finally {
      during.current = undefined;
    }
  }, [query]);

  const changed = (jobs: Job[]) => {
    during.current?.push(...jobs);
    const next = applyChanges(shown.current, jobs, filter, firstPage);
    shown.current = next;
    setRows(next);
    if (next.nextPageToken !== "" && next.jobs.length < answered.current / 2) void load();
  };
  const live = useJobStream(originQuery(filter).toString(), () => void load(), changed);

  // A stream follows a namespace and a name, so another status or page needs only another list.
  const known = useRef(query);
  useEffect(() => {
    if (known.current === query) return;
    known.current = query;
    setLoaded(false);
    setRows(NO_ROWS);
    void load();
  }, [query, load]);

  return { rows, loaded, error, live, reload: () => void load() };
}
