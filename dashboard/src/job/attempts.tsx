// The attempts of a job: when each ran, where, and how it ended.

import { useEffect, useRef } from "preact/hooks";
import { plural } from "../format";
import { Ago, Elapsed } from "../time";
import type { Attempt, Job } from "../types";
import { Timeline } from "./timeline";

const OUTCOMES: Record<string, string> = {
  completed: "completed",
  failed: "failed",
  released: "released by its node",
  expired: "lost with its node",
  cancelled: "cancelled",
};

export function outcome(attempt: Attempt): string {
  return attempt.outcome === undefined ? "running" : (OUTCOMES[attempt.outcome] ?? attempt.outcome);
}

export function Attempts({ job, attempts }: { job: Job; attempts: Attempt[] }) {
  return (
    <section class="card">
      <h2>
        Attempts{" "}
        {job.lostAttempts > 0 && (
          <small>
            {plural(job.lostAttempts, "attempt")} of {job.maxLostAttempts} lost
          </small>
        )}
      </h2>
      {attempts.length === 0 ? (
        <p class="hint">No node has taken the job yet.</p>
      ) : (
        <>
          <Plot job={job} attempts={attempts} />
          <table class="plain attempts">
            <caption class="unseen">Attempts, oldest first</caption>
            <thead>
              <tr>
                <th scope="col" class="number">
                  No.
                </th>
                <th scope="col">Node</th>
                <th scope="col">Outcome</th>
                <th scope="col" class="number">
                  Started
                </th>
                <th scope="col" class="number">
                  Took
                </th>
              </tr>
            </thead>
            <tbody>
              {attempts.map((attempt) => (
                <tr key={attempt.number}>
                  <td class="number">{attempt.number}</td>
                  <td class="node">{attempt.node}</td>
                  <td>
                    <span class="outcome" data-outcome={attempt.outcome ?? "running"}>
                      {outcome(attempt)}
                      {attempt.reason && `: ${attempt.reason}`}
                    </span>
                    {attempt.error && <span class="row-error">{attempt.error}</span>}
                  </td>
                  <td class="number">
                    <Ago at={attempt.startedAt} suffix=" ago" />
                  </td>
                  <td class="number">
                    <Elapsed from={attempt.startedAt} to={attempt.endedAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </section>
  );
}

function Plot({ job, attempts }: { job: Job; attempts: Attempt[] }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Timeline>(undefined);
  useEffect(() => {
    if (!box.current) return;
    plot.current = new Timeline(box.current);
    return () => plot.current?.destroy();
  }, []);
  useEffect(() => plot.current?.show(Date.parse(job.createdAt), attempts), [job.createdAt, attempts]);
  return (
    <div
      ref={box}
      class="timeline"
      role="img"
      aria-label={`When the ${plural(attempts.length, "attempt")} ran; the table below has the same`}
    />
  );
}
