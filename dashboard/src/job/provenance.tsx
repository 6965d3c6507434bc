// Where a score comes from, and how to repeat it.

import type { ComponentChildren } from "preact";
import { absoluteTime, bytes, count, duration } from "../format";
import { Copyable, Link } from "../parts";
import type { Confinement, Job } from "../types";
import { isLocal, scoreCommand } from "./command";

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

export function Provenance({ job }: { job: Job }) {
  const { result, origin } = job;
  return (
    <section class="card">
      <h2>Provenance</h2>
      <dl class="facts">
        {result && (
          <>
            <Fact name="Model">{result.model}</Fact>
            <Fact name="Digest">
              <Copyable text={result.modelDigest} label="the digest of the model" />
            </Fact>
            {result.engine && <Fact name="Engine">{result.engine}</Fact>}
            <Fact name="Backend">{result.backend}</Fact>
            <Fact name="Frames">
              {count(result.frames)}
              {result.size && ` at ${result.size.width}×${result.size.height}`}
            </Fact>
          </>
        )}
        {job.node && <Fact name="Node">{job.node}</Fact>}
        {result?.confinement && <Fact name="Confinement">{confinement(result.confinement)}</Fact>}
        {result?.reportURI && (
          <Fact name="Report">
            <Copyable text={result.reportURI} label="the address of the report" />
          </Fact>
        )}
        {origin && (
          <Fact name="Resource">
            <Link to={`/jobs?${new URLSearchParams({ namespace: origin.namespace, name: origin.name })}`}>
              {[origin.cluster, origin.namespace, origin.name].filter(Boolean).join("/")}
            </Link>
          </Fact>
        )}
        <Fact name="Job">
          <Copyable text={job.id} label="the id of the job" />
        </Fact>
        {job.idempotencyKey && <Fact name="Key">{job.idempotencyKey}</Fact>}
        <Fact name="Submitted">{absoluteTime(job.createdAt)}</Fact>
        {job.finishedAt && <Fact name="Finished">{absoluteTime(job.finishedAt)}</Fact>}
      </dl>
    </section>
  );
}

/** What confined the process that scored. */
function confinement(measures: Confinement): string {
  const parts = [
    measures.landlockAbi > 0 ? `Landlock ABI ${measures.landlockAbi}` : "files not restricted",
    measures.seccomp ? "seccomp" : "system calls not filtered",
  ];
  if (measures.memoryBytes > 0) parts.push(`${bytes(measures.memoryBytes)} of memory`);
  if (measures.cpuSeconds > 0) parts.push(`${duration(measures.cpuSeconds * 1000)} of CPU`);
  if (measures.wallSeconds > 0) parts.push(`${duration(measures.wallSeconds * 1000)} in all`);
  return parts.join(", ");
}

export function Repeat({ job }: { job: Job }) {
  const { reference, distorted } = job.scoring;
  return (
    <section class="card">
      <h2>Repeat it</h2>
      <Copyable text={scoreCommand(job)} label="the command" block />
      {!(isLocal(reference) && isLocal(distorted)) && (
        <p class="hint">
          <code>vmafx score</code> reads local files: fetch the clips first, and put their paths in the place of the addresses.
        </p>
      )}
    </section>
  );
}
