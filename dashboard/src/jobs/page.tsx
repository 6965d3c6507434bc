// The list of jobs.

import { useEffect, useState } from "preact/hooks";
import { plural } from "../format";
import { moveFocus, useKeys } from "../keyboard";
import { Empty, Loading, Problem, useTitle } from "../parts";
import { navigate, useLocation } from "../router";
import { NEEDS_WRITER, mayWrite, useSession } from "../session";
import { isFinal } from "../types";
import { CancelDialog } from "./cancel";
import { filterAddress, readFilter } from "./filter";
import { FilterBar, focusFilter } from "./filter-bar";
import { Pager } from "./pager";
import { JobsTable, ROW_LINK } from "./table";
import { useJobs } from "./use-jobs";

export function JobsPage() {
  const { query } = useLocation();
  const session = useSession();
  const filter = readFilter(query);
  const token = query.get("page") ?? "";
  const view = useJobs(filter, token);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [cancelling, setCancelling] = useState<string[]>();
  useTitle("Jobs");

  const address = query.toString();
  useEffect(() => setSelected(new Set()), [address]);
  const { jobs, hidden, nextPageToken } = view.rows;
  const cancellable = jobs.filter((job) => selected.has(job.id) && !isFinal(job.status)).map((job) => job.id);

  useKeys({
    j: () => moveFocus(ROW_LINK, 1),
    k: () => moveFocus(ROW_LINK, -1),
    x: () => document.activeElement?.closest("tr")?.querySelector<HTMLInputElement>("input[type=checkbox]")?.click(),
    "/": focusFilter,
  });

  const filtered = filterAddress(filter) !== "/jobs";
  return (
    <>
      <div class="heading">
        <h1>Jobs</h1>
        <span class="live" data-state={view.live} role="status">
          {view.live === "live" ? "Live" : view.live === "connecting" ? "Connecting" : "Offline, trying again"}
        </span>
      </div>
      <FilterBar filter={filter} />
      {view.error && <Problem error={view.error} retry={view.reload} />}
      {hidden.size > 0 && (
        <button type="button" class="newer" onClick={view.reload}>
          {plural(hidden.size, "newer job")}: show
        </button>
      )}
      {!view.loaded && !view.error && <Loading lines={10} />}
      {view.loaded && jobs.length === 0 && (
        <Empty title={filtered ? "No job matches this filter" : token ? "No older jobs" : "No jobs yet"}>
          {filtered || token ? (
            <button type="button" onClick={() => navigate("/jobs")}>
              Show all jobs
            </button>
          ) : (
            <p>
              Submit one with <code>vmafx submit</code>, a VmafxJob or <code>POST /v1/jobs</code>. It appears here at once.
            </p>
          )}
        </Empty>
      )}
      {jobs.length > 0 && (
        <>
          <JobsTable jobs={jobs} selected={selected} select={setSelected} />
          <div class="below">
            <div class="selection" aria-live="polite">
              {selected.size > 0 && (
                <>
                  <span>{plural(selected.size, "job")} selected</span>
                  <button
                    type="button"
                    class="danger"
                    disabled={!mayWrite(session) || cancellable.length === 0}
                    title={mayWrite(session) ? undefined : NEEDS_WRITER}
                    onClick={() => setCancelling(cancellable)}
                  >
                    Cancel {cancellable.length}
                  </button>
                  <button type="button" class="quiet" onClick={() => setSelected(new Set())}>
                    Clear
                  </button>
                </>
              )}
            </div>
            <Pager filter={filter} token={token} nextToken={nextPageToken} />
          </div>
        </>
      )}
      {cancelling && (
        <CancelDialog ids={cancelling} close={() => setCancelling(undefined)} done={(failed) => setSelected(new Set(failed))} />
      )}
    </>
  );
}
