// The rows of a page of jobs, kept up to date by the changes of jobs. Pure, so that the order of events does not matter.

import type { Job } from "../types";
import { type JobsFilter, PAGE_SIZE, matches } from "./filter";

/** A first page grows by new jobs up to this size; further ones are only counted. */
const MAX_ROWS = 2 * PAGE_SIZE;

export interface Rows {
  /** Newest first. */
  jobs: Job[];
  nextPageToken: string;
  /** Ids of new jobs that are not shown. */
  hidden: ReadonlySet<string>;
}

export const NO_ROWS: Rows = { jobs: [], nextPageToken: "", hidden: new Set() };

/** Whether `a` is listed before `b`: by creation, then by id. */
function isNewer(a: Job, b: Job): boolean {
  return a.createdAt !== b.createdAt ? a.createdAt > b.createdAt : a.id > b.id;
}

/** The rows after changes. Only the first page takes new jobs, because all other pages are below them. */
export function applyChanges(rows: Rows, changes: Job[], filter: JobsFilter, firstPage: boolean): Rows {
  const byId = new Map(rows.jobs.map((job) => [job.id, job]));
  const hidden = new Set(rows.hidden);
  const oldest = rows.nextPageToken === "" ? undefined : rows.jobs.at(-1);
  for (const job of changes) {
    const shown = byId.get(job.id);
    if (shown) {
      if (job.revision < shown.revision) continue;
      if (matches(filter, job)) byId.set(job.id, job);
      else byId.delete(job.id);
    } else if (!matches(filter, job)) {
      hidden.delete(job.id);
    } else if (firstPage && (oldest === undefined || isNewer(job, oldest))) {
      if (byId.size < MAX_ROWS) byId.set(job.id, job);
      else hidden.add(job.id);
    }
  }
  const jobs = [...byId.values()].sort((a, b) => (isNewer(a, b) ? -1 : 1));
  return { ...rows, jobs, hidden };
}
