// The score, how it spreads over the frames, and the features that it is made of.

import { count, feature, score } from "../format";
import type { Job, PooledScores } from "../types";

/** Poolings below the scale, from the worst frame to the best. */
const MARKS: [keyof PooledScores, string, string][] = [
  ["min", "Min", "The worst frame"],
  ["p1", "P1", "1 % of the frames are below"],
  ["p5", "P5", "5 % of the frames are below"],
  ["p10", "P10", "10 % of the frames are below"],
  ["p50", "Median", "Half of the frames are below"],
  ["max", "Max", "The best frame"],
];

export function Scores({ job }: { job: Job }) {
  const pooled = job.result?.scores;
  return (
    <section class="card scores">
      <h2 class="unseen">Score</h2>
      <div class="hero">
        <span class="big">{score(job.score ?? 0)}</span>
        <span class="unit">VMAF, mean{job.result ? ` of ${count(job.result.frames)} frames` : ""}</span>
        {job.groundTruth !== undefined && (
          <span class="truth">
            labelled <strong>{score(job.groundTruth)}</strong>
          </span>
        )}
      </div>
      {pooled && (
        <div class="spread">
          <Scale pooled={pooled} truth={job.groundTruth} />
          <dl class="tiles">
            {MARKS.map(([key, name, what]) => (
              <div key={key} title={what}>
                <dt>{name}</dt>
                <dd>{score(pooled[key])}</dd>
              </div>
            ))}
            <div title="The harmonic mean, which weighs bad frames more">
              <dt>Harmonic</dt>
              <dd>{score(pooled.harmonicMean)}</dd>
            </div>
            <div title="Standard deviation over the frames">
              <dt>Deviation</dt>
              <dd>{score(pooled.stddev)}</dd>
            </div>
          </dl>
        </div>
      )}
    </section>
  );
}

const clamp = (value: number) => Math.min(100, Math.max(0, value));

/** From 0 to 100: the range of all frames, the range from P10 to the best frame, the median and the mean. */
function Scale({ pooled, truth }: { pooled: PooledScores; truth: number | undefined }) {
  const range = (from: number, to: number) => ({ left: `${clamp(from)}%`, width: `${Math.max(0.4, clamp(to) - clamp(from))}%` });
  const text = MARKS.map(([key, name]) => `${name} ${score(pooled[key])}`).join(", ");
  return (
    <div class="scale" role="img" aria-label={`Scores of the frames: ${text}, mean ${score(pooled.mean)}`}>
      <div class="track">
        <span class="all" style={range(pooled.min, pooled.max)} />
        <span class="most" style={range(pooled.p10, pooled.max)} />
        <span class="median" style={{ left: `${clamp(pooled.p50)}%` }} />
        <span class="mean" style={{ left: `${clamp(pooled.mean)}%` }} />
        {truth !== undefined && <span class="label" style={{ left: `${clamp(truth)}%` }} />}
      </div>
      <div class="ticks" aria-hidden="true">
        {[0, 20, 40, 60, 80, 100].map((tick) => (
          <span key={tick}>{tick}</span>
        ))}
      </div>
      <ul class="legend" aria-hidden="true">
        <li class="all">all frames</li>
        <li class="most">best 90 %</li>
        <li class="median">median</li>
        <li class="mean">mean</li>
        {truth !== undefined && <li class="label">label</li>}
      </ul>
    </div>
  );
}

export function Features({ features }: { features: Record<string, number> }) {
  return (
    <section class="card">
      <h2>Features</h2>
      <table class="plain">
        <caption class="unseen">Mean of each feature over the frames</caption>
        <thead>
          <tr>
            <th scope="col">Feature</th>
            <th scope="col" class="number">
              Mean
            </th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(features)
            .sort(([a], [b]) => a.localeCompare(b))
            .map(([name, value]) => (
              <tr key={name}>
                <td class="mono">{name}</td>
                <td class="number">{feature(value)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  );
}
