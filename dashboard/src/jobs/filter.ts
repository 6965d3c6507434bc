// What the list of jobs shows: the filter in the address, and the same filter in the words of the API.

import { type Job, STATUSES, type Status } from "../types";

export interface JobsFilter {
  statuses: Status[];
  namespace: string;
  name: string;
}

export const PAGE_SIZE = 50;

export function readFilter(query: URLSearchParams): JobsFilter {
  const named = (query.get("status") ?? "").split(",");
  return {
    statuses: STATUSES.filter((status) => named.includes(status)),
    namespace: query.get("namespace") ?? "",
    name: query.get("name") ?? "",
  };
}

/** The address of the first page with this filter. */
export function filterAddress(filter: JobsFilter): string {
  const query = new URLSearchParams();
  if (filter.statuses.length > 0) query.set("status", filter.statuses.join(","));
  if (filter.namespace) query.set("namespace", filter.namespace);
  if (filter.name) query.set("name", filter.name);
  return query.size > 0 ? `/jobs?${query}` : "/jobs";
}

export function pageAddress(filter: JobsFilter, token: string): string {
  const address = filterAddress(filter);
  return token === "" ? address : `${address}${address.includes("?") ? "&" : "?"}page=${encodeURIComponent(token)}`;
}

/** The part of the filter that selects jobs by their resource, which never changes while a job lives. */
export function originQuery(filter: JobsFilter): URLSearchParams {
  const query = new URLSearchParams();
  if (filter.namespace) query.set("namespace", filter.namespace);
  if (filter.name) query.set("name", filter.name);
  return query;
}

export function listQuery(filter: JobsFilter, token: string): URLSearchParams {
  const query = originQuery(filter);
  if (filter.statuses.length > 0) query.set("status", filter.statuses.join(","));
  query.set("order", "newest");
  query.set("pageSize", String(PAGE_SIZE));
  if (token) query.set("pageToken", token);
  return query;
}

export function matches(filter: JobsFilter, job: Job): boolean {
  return filter.statuses.length === 0 || filter.statuses.includes(job.status);
}
