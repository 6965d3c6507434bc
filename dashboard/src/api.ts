// Calls of the API, as the user who is signed in.

import type { Attempt, Explanation, Job, JobList, Node, Session } from "./types";

/** A call longer than this has lost its controller. */
const TIMEOUT_MS = 30_000;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

let onSignedOut: () => void = () => {};

/** Sets what happens when a call is refused because nobody is signed in any more. */
export function whenSignedOut(react: () => void): void {
  onSignedOut = react;
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (method !== "GET") {
    // A page of another site cannot send it, so its presence shows that the request is ours.
    headers["x-vmafx-request"] = "dashboard";
    headers["content-type"] = "application/json";
  }
  const request: RequestInit = { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
  if (body !== undefined) request.body = JSON.stringify(body);
  let response: Response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new ApiError(0, "The controller cannot be reached. It may be restarting; the page tries again.");
  }
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer as T;
  if (response.status === 401 && path !== "/session") onSignedOut();
  const refused = (answer as { error?: unknown } | undefined)?.error;
  throw new ApiError(
    response.status,
    typeof refused === "string" ? refused : `The controller answered with status ${response.status}.`,
  );
}

const job = (id: string) => `/v1/jobs/${encodeURIComponent(id)}`;

export const api = {
  session: () => call<Session>("GET", "/session"),
  signIn: (token: string) => call<Session>("POST", "/session", { token }),
  signOut: () => call<Session>("DELETE", "/session"),
  jobs: (query: URLSearchParams) => call<JobList>("GET", `/v1/jobs?${query}`),
  job: (id: string) => call<Job>("GET", job(id)),
  attempts: (id: string) => call<{ attempts: Attempt[] }>("GET", `${job(id)}/attempts`),
  explain: (id: string) => call<Explanation>("GET", `${job(id)}/explain`),
  cancel: (id: string, reason: string) => call<Job>("POST", `${job(id)}/cancel`, { reason }),
  label: (id: string, value: number) => call<{ sampled: boolean }>("POST", `${job(id)}/label`, { value }),
  prioritize: (id: string, priority: number) => call<Job>("PATCH", job(id), { priority }),
  nodes: () => call<{ nodes: Node[] }>("GET", "/v1/nodes"),
};
