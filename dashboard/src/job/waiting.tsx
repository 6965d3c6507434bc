// Why a job waits, in numbers.

import { count, plural } from "../format";
import { Bar } from "../parts";
import { Until } from "../time";
import type { Explanation, Job } from "../types";

/** The reasons of the API as a headline; the message has the rest. */
const HEADLINES: Record<string, string> = {
  NoNode: "Waits for a node",
  NoBackend: "Waits for a node with its backend",
  Quarantined: "Waits because its nodes are quarantined",
  BackingOff: "Waits before the next attempt",
  TenantLimit: "Waits for a limit of the tenant",
  Busy: "Waits for a free slot",
  Ready: "Is next",
};

export function Waiting({ job, explanation }: { job: Job; explanation: Explanation }) {
  const { reason, message, aheadByAge, aheadByPriority, backends, nextEligibleAt } = explanation;
  const slots = backends.reduce((sum, backend) => sum + backend.slots, 0);
  const eligible = nextEligibleAt ?? job.availableAt;
  return (
    <section class="card waiting">
      <h2>{HEADLINES[reason] ?? reason}</h2>
      <p class="message">{message}</p>
      <dl class="tiles">
        <div>
          <dt>Ahead by priority</dt>
          <dd>{count(aheadByPriority)}</dd>
        </div>
        <div>
          <dt>Ahead by age</dt>
          <dd>{count(aheadByAge)}</dd>
        </div>
        <div>
          <dt>Priority</dt>
          <dd>{job.priority}</dd>
        </div>
        <div>
          <dt>Lost attempts</dt>
          <dd>
            {job.lostAttempts} <small>of {job.maxLostAttempts}</small>
          </dd>
        </div>
        {reason === "BackingOff" && eligible && (
          <div>
            <dt>Next attempt</dt>
            <dd>
              <Until at={eligible} />
            </dd>
          </div>
        )}
      </dl>
      {slots > 0 && (
        <ul class="supply">
          {backends.map((backend) => (
            <li key={backend.backend}>
              <span>
                <strong>{backend.backend}</strong> {plural(backend.nodes, "node")}
              </span>
              <Bar value={backend.slots > 0 ? backend.busy / backend.slots : 0} label={`Busy slots of ${backend.backend}`} />
              <span class="number">
                {count(backend.busy)} of {count(backend.slots)} slots busy
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
