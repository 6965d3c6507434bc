// The answers of the API that the pages use, as /openapi.json describes them.

export const STATUSES = ["pending", "running", "completed", "failed", "cancelled"] as const;
export type Status = (typeof STATUSES)[number];

export interface Size {
  width: number;
  height: number;
}

export interface Scoring {
  reference: string;
  distorted: string;
  model: string;
  backend: string;
  input?: Size & { pixelFormat: string; bitDepth: number };
  features?: string[];
  frameStep: number;
  scaleTo?: "reference" | "distorted" | "never" | Size;
  lengthMismatch?: "fail" | "shortest";
  reportURI?: string;
}

export interface Origin {
  cluster: string;
  namespace: string;
  name: string;
  uid: string;
}

export interface PooledScores {
  mean: number;
  harmonicMean: number;
  min: number;
  max: number;
  stddev: number;
  p1: number;
  p5: number;
  p10: number;
  p50: number;
}

export interface Confinement {
  landlockAbi: number;
  seccomp: boolean;
  memoryBytes: number;
  cpuSeconds: number;
  wallSeconds: number;
}

export interface JobResult {
  model: string;
  modelDigest: string;
  backend: string;
  engine?: string;
  frames: number;
  size?: Size;
  scores?: PooledScores;
  warnings: string[];
  reportURI?: string;
  confinement?: Confinement;
}

export interface Job {
  id: string;
  status: Status;
  scoring: Scoring;
  nextScoring?: Scoring;
  priority: number;
  idempotencyKey?: string;
  origin?: Origin;
  node?: string;
  attempt: number;
  lostAttempts: number;
  maxLostAttempts: number;
  progress?: { framesDone: number; framesTotal: number };
  score?: number;
  features?: Record<string, number>;
  result?: JobResult;
  error?: string;
  failureReason?: string;
  groundTruth?: number;
  createdAt: string;
  updatedAt: string;
  startedAt?: string;
  finishedAt?: string;
  availableAt?: string;
  leaseExpiresAt?: string;
  deadlineAt?: string;
  revision: number;
  lastFailure?: { attempt: number; node: string; reason: string; message: string };
}

export interface JobList {
  jobs: Job[];
  nextPageToken: string;
}

export interface Attempt {
  number: number;
  node: string;
  startedAt: string;
  endedAt?: string;
  outcome?: string;
  error?: string;
  reason?: string;
}

export interface Explanation {
  reason: string;
  message: string;
  aheadByPriority: number;
  aheadByAge: number;
  backends: { backend: string; nodes: number; slots: number; busy: number }[];
  nextEligibleAt?: string;
}

export interface Node {
  name: string;
  gpuVendor: string;
  device: string;
  backends: string[];
  slots: number;
  jobs: number;
  labels: Record<string, string>;
  resource?: Origin | null;
  registeredAt: string;
  lastSeenAt: string;
  quarantine?: { failures: number; until: string; reason: string; message: string };
}

export interface Caller {
  subject: string;
  tenant: string;
  roles: string[];
  expiresAt?: string;
}

export interface Session {
  signInRequired: boolean;
  caller?: Caller;
}

export function isFinal(status: Status): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}
