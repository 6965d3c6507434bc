// One job: what was asked, where it stands, what came of it, and how to do it again.

import { useState } from "preact/hooks";
import { ApiError } from "../api";
import { count, duration, fileName, modelName, plural } from "../format";
import { Warning } from "../icons";
import { CancelDialog } from "../jobs/cancel";
import { Bar, Clip, Empty, Link, Loading, Problem, StatusBadge, progressOf, useTitle } from "../parts";
import { NEEDS_WRITER, mayWrite, useSession } from "../session";
import { Ago, Elapsed, Until, useNow } from "../time";
import { type Job, isFinal } from "../types";
import { Attempts } from "./attempts";
import { LabelForm, PriorityForm } from "./changes";
import { Features, Scores } from "./scores";
import { Provenance, Repeat } from "./provenance";
import { type JobDetails, useJob } from "./use-job";
import { Waiting } from "./waiting";

export function JobPage({ id }: { id: string }) {
  const { value, error, refresh } = useJob(id);
  useTitle(value ? fileName(value.job.scoring.distorted) : "Job");

  if (value === undefined) {
    if (error?.status === 404) {
      return (
        <Empty title="This job does not exist">
          <p>It was removed after the retention time, or it belongs to another tenant.</p>
          <Link to="/jobs">All jobs</Link>
        </Empty>
      );
    }
    return error ? <Problem error={error} retry={refresh} /> : <Loading lines={8} />;
  }
  return <Details details={value} error={error} refresh={refresh} />;
}

interface DetailsProps {
  details: JobDetails;
  error: ApiError | undefined;
  refresh: () => Promise<void>;
}

function Details({ details: { job, attempts, explanation }, error, refresh }: DetailsProps) {
  const { result, scoring } = job;
  return (
    <article class="job">
      <nav class="crumbs" aria-label="Where you are">
        <Link to="/jobs">Jobs</Link>
        <span aria-hidden="true">/</span>
        <span class="mono">{job.id.slice(0, 8)}</span>
      </nav>
      <Heading job={job} refresh={refresh} />
      {error && <Problem error={error} retry={refresh} />}
      {job.error && (
        <section class={job.status === "failed" ? "notice bad" : "notice"}>
          <h2>{job.status === "failed" ? (job.failureReason ?? "Failed") : "Cancelled"}</h2>
          <p class="message">{job.error}</p>
        </section>
      )}
      {explanation && <Waiting job={job} explanation={explanation} />}
      {job.status === "running" && <Running job={job} />}
      {result && result.warnings.length > 0 && (
        <section class="notice warn">
          <h2>
            <Warning /> {plural(result.warnings.length, "warning")} about this score
          </h2>
          <ul>
            {result.warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </section>
      )}
      {job.score !== undefined && <Scores job={job} />}
      <div class="columns">
        <div>
          <section class="card">
            <h2>What was asked</h2>
            <dl class="facts">
              <dt>Reference</dt>
              <dd>
                <Clip uri={scoring.reference} />
                <span class="uri mono">{scoring.reference}</span>
              </dd>
              <dt>Distorted</dt>
              <dd>
                <Clip uri={scoring.distorted} />
                <span class="uri mono">{scoring.distorted}</span>
              </dd>
              <dt>Model</dt>
              <dd title={scoring.model}>{modelName(scoring.model)}</dd>
              <dt>Backend</dt>
              <dd>{scoring.backend || "any"}</dd>
              <Options job={job} />
            </dl>
          </section>
          <Attempts job={job} attempts={attempts} />
          <Repeat job={job} />
        </div>
        <div>
          <section class="card">
            <h2>Change</h2>
            <LabelForm job={job} changed={refresh} />
            <PriorityForm job={job} changed={refresh} />
          </section>
          {job.features && Object.keys(job.features).length > 0 && <Features features={job.features} />}
          <Provenance job={job} />
        </div>
      </div>
    </article>
  );
}

function Heading({ job, refresh }: { job: Job; refresh: () => Promise<void> }) {
  const session = useSession();
  const [cancelling, setCancelling] = useState(false);
  const { distorted, reference } = job.scoring;
  const final = isFinal(job.status);
  return (
    <div class="heading">
      <div class="titles">
        <h1 title={distorted}>{fileName(distorted)}</h1>
        <p class="against">
          against <span title={reference}>{fileName(reference)}</span>
        </p>
      </div>
      <StatusBadge status={job.status} />
      <p class="when">
        submitted <Ago at={job.createdAt} suffix=" ago" />
        {job.finishedAt && job.startedAt && (
          <>
            , took <Elapsed from={job.startedAt} to={job.finishedAt} />
          </>
        )}
      </p>
      <button
        type="button"
        class="danger"
        disabled={final || !mayWrite(session)}
        title={!mayWrite(session) ? NEEDS_WRITER : final ? "The job is finished" : undefined}
        onClick={() => setCancelling(true)}
      >
        Cancel
      </button>
      {cancelling && <CancelDialog ids={[job.id]} close={() => setCancelling(false)} done={() => void refresh()} />}
    </div>
  );
}

function Options({ job }: { job: Job }) {
  const { input, features, frameStep, scaleTo, lengthMismatch, reportURI } = job.scoring;
  return (
    <>
      {input && (
        <>
          <dt>Raw video</dt>
          <dd>
            {input.width}×{input.height}, {input.pixelFormat}, {input.bitDepth} bit
          </dd>
        </>
      )}
      {features && features.length > 0 && (
        <>
          <dt>Further metrics</dt>
          <dd>{features.join(", ")}</dd>
        </>
      )}
      {frameStep > 1 && (
        <>
          <dt>Frames</dt>
          <dd>one of {count(frameStep)}</dd>
        </>
      )}
      {scaleTo && (
        <>
          <dt>Compared at</dt>
          <dd>{typeof scaleTo === "string" ? `size of ${scaleTo}` : `${scaleTo.width}×${scaleTo.height}`}</dd>
        </>
      )}
      {lengthMismatch && (
        <>
          <dt>Different lengths</dt>
          <dd>{lengthMismatch === "shortest" ? "score the common part" : "fail"}</dd>
        </>
      )}
      {reportURI && (
        <>
          <dt>Report</dt>
          <dd class="mono">{reportURI}</dd>
        </>
      )}
      {job.deadlineAt && !isFinal(job.status) && (
        <>
          <dt>Deadline</dt>
          <dd>
            <Until at={job.deadlineAt} />
          </dd>
        </>
      )}
    </>
  );
}

function Running({ job }: { job: Job }) {
  const now = useNow();
  const done = progressOf(job);
  const { progress, startedAt } = job;
  if (!progress || !startedAt) {
    return (
      <section class="card progress">
        <p>
          Running on <strong>{job.node}</strong>. The node has not reported progress yet.
        </p>
      </section>
    );
  }
  const elapsed = Math.max(1, now - Date.parse(startedAt));
  const rate = (progress.framesDone * 1000) / elapsed;
  const left = progress.framesTotal - progress.framesDone;
  return (
    <section class="card progress">
      <p>
        Running on <strong>{job.node}</strong>: {count(progress.framesDone)}
        {progress.framesTotal > 0 && <> of {count(progress.framesTotal)}</>} frames, {rate.toFixed(1)} per second
        {done !== undefined && rate > 0 && left > 0 && <>, about {duration((left / rate) * 1000)} left</>}
      </p>
      {done !== undefined && <Bar value={done} label="Progress of the attempt" />}
    </section>
  );
}

