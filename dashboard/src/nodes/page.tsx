// The nodes: what each can do, what it does, and what is wrong with it.

import { api } from "../api";
import { fileName, plural } from "../format";
import { moveFocus, useKeys } from "../keyboard";
import { usePolled } from "../live";
import { Bar, Empty, Link, Loading, Problem, progressOf, useTitle } from "../parts";
import { Ago, Until, useNow } from "../time";
import type { Job, Node } from "../types";

const POLL_MS = 5_000;
/** A node sends a heartbeat every few seconds, and its session ends after a minute without one. */
const LATE_MS = 30_000;
/** As many as one page of the API has. */
const MAX_RUNNING = 1000;

interface Fleet {
  nodes: Node[];
  running: Job[];
}

async function read(): Promise<Fleet> {
  const query = new URLSearchParams({ status: "running", order: "newest", pageSize: String(MAX_RUNNING) });
  const [{ nodes }, { jobs }] = await Promise.all([api.nodes(), api.jobs(query)]);
  return { nodes, running: jobs };
}

export function NodesPage() {
  const { value, error, at, refresh } = usePolled("nodes", read, () => POLL_MS);
  const now = useNow();
  useTitle("Nodes");
  useKeys({ j: () => moveFocus("tbody .job-link", 1), k: () => moveFocus("tbody .job-link", -1) });
  const slots = value?.nodes.reduce((sum, node) => sum + node.slots, 0) ?? 0;
  const busy = value?.nodes.reduce((sum, node) => sum + node.jobs, 0) ?? 0;
  const quarantined = value?.nodes.filter((node) => node.quarantine).length ?? 0;
  return (
    <>
      <div class="heading">
        <h1>Nodes</h1>
        <span class="live" data-state={error ? "offline" : value ? "live" : "connecting"} role="status">
          {error ? "Offline, trying again" : value ? (now - at < 3 * POLL_MS ? "Live" : "Paused") : "Connecting"}
        </span>
        {value && value.nodes.length > 0 && (
          <p class="when">
            {plural(value.nodes.length, "node")}, {busy} of {plural(slots, "slot")} busy
            {quarantined > 0 && `, ${quarantined} quarantined`}
          </p>
        )}
      </div>
      {error && <Problem error={error} retry={refresh} />}
      {!value && !error && <Loading />}
      {value?.nodes.length === 0 && (
        <Empty title="No node is connected">
          <p>
            Jobs wait until one is. Start one with a VmafxNode, or on a machine with <code>vmafx-node</code>. A node without a
            heartbeat for a minute is not listed any more.
          </p>
        </Empty>
      )}
      {value && value.nodes.length > 0 && (
        <div class="table-box">
          <table class="nodes">
            <caption class="unseen">Connected nodes</caption>
            <thead>
              <tr>
                <th scope="col">Node</th>
                <th scope="col">Slots</th>
                <th scope="col">Runs</th>
                <th scope="col" class="wide-1">
                  Backends
                </th>
                <th scope="col" class="wide-2">
                  Device
                </th>
                <th scope="col" class="number">
                  Heartbeat
                </th>
              </tr>
            </thead>
            <tbody>
              {value.nodes.map((node, index) => (
                <NodeRow key={`${node.name} ${index}`} node={node} jobs={value.running.filter((job) => job.node === node.name)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function NodeRow({ node, jobs }: { node: Node; jobs: Job[] }) {
  const late = useNow() - Date.parse(node.lastSeenAt) > LATE_MS;
  const labels = Object.entries(node.labels);
  const { quarantine, resource } = node;
  return (
    <tr data-quarantined={quarantine ? "" : undefined}>
      <td class="node-name">
        <strong>{node.name}</strong>
        {resource && (
          <span class="against">
            {resource.namespace}/{resource.name}
          </span>
        )}
        {labels.length > 0 && (
          <span class="labels">
            {labels.map(([key, text]) => (
              <code key={key}>
                {key}={text}
              </code>
            ))}
          </span>
        )}
      </td>
      <td class="slots">
        <Bar value={node.slots > 0 ? Math.min(1, node.jobs / node.slots) : 0} label={`Busy slots of ${node.name}`} />
        <span class="number">
          {node.jobs} of {node.slots}
        </span>
      </td>
      <td class="runs">
        {jobs.length === 0 && !quarantine && <span class="none">nothing</span>}
        {jobs.length > 0 && (
          <ul>
            {jobs.slice(0, 8).map((job) => (
              <RunningJob key={job.id} job={job} />
            ))}
            {jobs.length > 8 && <li class="hint">and {jobs.length - 8} more</li>}
          </ul>
        )}
        {quarantine && (
          <div class="quarantine">
            <p>
              <strong>Quarantined: {quarantine.reason}</strong>, {plural(quarantine.failures, "attempt")} failed in a row. Next job on
              trial <Until at={quarantine.until} />.
            </p>
            <p class="message">{quarantine.message}</p>
          </div>
        )}
      </td>
      <td class="wide-1">{node.backends.join(", ")}</td>
      <td class="wide-2">
        {node.device || "–"}
        {node.gpuVendor && node.gpuVendor !== "cpu" && <span class="against">{node.gpuVendor}</span>}
      </td>
      <td class="number" data-late={late ? "" : undefined}>
        <Ago at={node.lastSeenAt} suffix=" ago" />
      </td>
    </tr>
  );
}

function RunningJob({ job }: { job: Job }) {
  const done = progressOf(job);
  return (
    <li>
      <Link to={`/jobs/${job.id}`} class="job-link" title={job.scoring.distorted}>
        {fileName(job.scoring.distorted)}
      </Link>
      {done !== undefined && <span class="hint">{Math.floor(done * 100)} %</span>}
    </li>
  );
}
