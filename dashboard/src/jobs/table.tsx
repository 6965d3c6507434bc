// The rows of the list.

import { useEffect, useRef } from "preact/hooks";
import { fileName, modelName, score } from "../format";
import { Bar, Link, StatusBadge, progressOf } from "../parts";
import { navigate } from "../router";
import { Ago, Elapsed } from "../time";
import type { Job } from "../types";

export const ROW_LINK = "tbody .row-link";

interface TableProps {
  jobs: Job[];
  selected: ReadonlySet<string>;
  select: (selected: ReadonlySet<string>) => void;
}

export function JobsTable({ jobs, selected, select }: TableProps) {
  const all = useRef<HTMLInputElement>(null);
  const some = jobs.some((job) => selected.has(job.id));
  const every = some && jobs.every((job) => selected.has(job.id));
  useEffect(() => {
    if (all.current) all.current.indeterminate = some && !every;
  }, [some, every]);
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    select(next);
  };
  return (
    <div class="table-box">
      <table class="jobs">
        <caption class="unseen">Jobs, newest first</caption>
        <thead>
          <tr>
            <th class="check">
              <input
                ref={all}
                type="checkbox"
                aria-label="Select all on this page"
                checked={every}
                onChange={() => select(every ? new Set() : new Set(jobs.map((job) => job.id)))}
              />
            </th>
            <th scope="col">Status</th>
            <th scope="col" class="number">
              Score
            </th>
            <th scope="col">Clips</th>
            <th scope="col" class="wide-3">
              Model
            </th>
            <th scope="col" class="wide-1">
              Node
            </th>
            <th scope="col" class="number wide-2">
              Priority
            </th>
            <th scope="col" class="number">
              Age
            </th>
            <th scope="col" class="number wide-2">
              Duration
            </th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <JobRow key={job.id} job={job} selected={selected.has(job.id)} toggle={() => toggle(job.id)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function JobRow({ job, selected, toggle }: { job: Job; selected: boolean; toggle: () => void }) {
  const address = `/jobs/${job.id}`;
  const done = progressOf(job);
  const { reference, distorted, model } = job.scoring;
  const open = (event: MouseEvent) => {
    // Links and check boxes do their own thing, and a selected text is not a click.
    if ((event.target as HTMLElement).closest("a, input, label") || getSelection()?.toString()) return;
    navigate(address);
  };
  return (
    <tr data-selected={selected ? "" : undefined} onClick={open}>
      <td class="check">
        <input type="checkbox" aria-label={`Select ${fileName(distorted)}`} checked={selected} onChange={toggle} />
      </td>
      <td class="status">
        <StatusBadge status={job.status} />
        {done !== undefined && <Bar value={done} label={`Progress of ${fileName(distorted)}`} />}
      </td>
      <td class="number score">{job.score === undefined ? <span class="none">–</span> : score(job.score)}</td>
      <td class="clips">
        <Link to={address} class="row-link" title={distorted}>
          {fileName(distorted)}
        </Link>
        <span class="against" title={reference}>
          {fileName(reference)}
        </span>
        {job.error && (
          <span class="row-error" title={job.error}>
            {job.failureReason ?? job.error}
          </span>
        )}
      </td>
      <td class="wide-3 model" title={job.result?.model ?? model}>
        {modelName(job.result?.model ?? model)}
      </td>
      <td class="wide-1 node" title={job.node}>
        {job.node ?? <span class="none">–</span>}
      </td>
      <td class="number wide-2">{job.priority}</td>
      <td class="number">
        <Ago at={job.createdAt} />
      </td>
      <td class="number wide-2">
        {job.startedAt && (job.status !== "pending") ? <Elapsed from={job.startedAt} to={job.finishedAt} /> : <span class="none">–</span>}
      </td>
    </tr>
  );
}
