// One job with its attempts and, while it waits, the reason why. It is polled: a stream of the API has all jobs of a tenant,
// and this page needs one.

import { api } from "../api";
import { type Polled, usePolled } from "../live";
import { type Attempt, type Explanation, type Job, isFinal } from "../types";

const ACTIVE_MS = 2_000;
const RETRY_MS = 5_000;

export interface JobDetails {
  job: Job;
  attempts: Attempt[];
  /** While the job waits. */
  explanation: Explanation | undefined;
}

async function read(id: string): Promise<JobDetails> {
  const [job, { attempts }] = await Promise.all([api.job(id), api.attempts(id)]);
  const explanation = job.status === "pending" ? await api.explain(id) : undefined;
  return { job, attempts, explanation };
}

export function useJob(id: string): Polled<JobDetails> {
  const interval = (details: JobDetails | undefined) => {
    if (details === undefined) return RETRY_MS;
    return isFinal(details.job.status) ? undefined : ACTIVE_MS;
  };
  return usePolled(id, () => read(id), interval);
}
