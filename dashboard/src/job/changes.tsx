// What a writer may change about a job.

import { useId, useState } from "preact/hooks";
import { ApiError, api } from "../api";
import { score } from "../format";
import { NEEDS_WRITER, mayWrite, useSession } from "../session";
import { type Job, isFinal } from "../types";

interface ChangeProps {
  job: Job;
  changed: () => Promise<void>;
}

export function LabelForm({ job, changed }: ChangeProps) {
  const session = useSession();
  const impossible = job.status === "failed" || job.status === "cancelled";
  const refused = !mayWrite(session) ? NEEDS_WRITER : impossible ? "A job without a score has nothing to label" : undefined;
  return (
    <NumberForm
      label="Label this clip"
      hint={
        job.groundTruth === undefined
          ? "The quality that viewers gave it, from 0 to 100. Models learn from it."
          : `Labelled ${score(job.groundTruth)}. A new label replaces it.`
      }
      min={0}
      max={100}
      step="any"
      button="Label"
      refused={refused}
      submit={async (value) => {
        const { sampled } = await api.label(job.id, value);
        await changed();
        return sampled ? "Stored. It is a training sample now." : "Stored. It becomes a training sample with the score.";
      }}
    />
  );
}

export function PriorityForm({ job, changed }: ChangeProps) {
  const session = useSession();
  if (isFinal(job.status)) return null;
  return (
    <NumberForm
      label="Priority"
      hint={`Now ${job.priority}. Each step is a head start of a minute before older jobs.`}
      step={1}
      button="Set"
      refused={mayWrite(session) ? undefined : NEEDS_WRITER}
      submit={async (value) => {
        await api.prioritize(job.id, value);
        await changed();
        return "Stored.";
      }}
    />
  );
}

interface NumberFormProps {
  label: string;
  hint: string;
  min?: number;
  max?: number;
  step: number | "any";
  button: string;
  /** Why the user may not submit it. */
  refused: string | undefined;
  /** Returns what to say. */
  submit: (value: number) => Promise<string>;
}

function NumberForm({ label, hint, min, max, step, button, refused, submit }: NumberFormProps) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [message, setMessage] = useState<{ text: string; bad: boolean }>();
  const id = useId();
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      setMessage({ text: await submit(Number(text)), bad: false });
      setText("");
    } catch (error) {
      setMessage({ text: error instanceof ApiError ? error.message : String(error), bad: true });
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="change" onSubmit={send} title={refused}>
      <label for={id}>{label}</label>
      <div class="row">
        <input
          id={id}
          type="number"
          inputMode="decimal"
          required
          min={min}
          max={max}
          step={step}
          value={text}
          disabled={refused !== undefined}
          aria-describedby={`${id}-hint`}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" disabled={refused !== undefined || busy || text === ""}>
          {button}
        </button>
      </div>
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <p class={message?.bad ? "refused" : "done"} role="status">
        {message?.text}
      </p>
    </form>
  );
}
