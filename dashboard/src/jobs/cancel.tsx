// Cancelling one job or several, after asking.

import { useId, useState } from "preact/hooks";
import { ApiError, api } from "../api";
import { plural } from "../format";
import { Dialog } from "../parts";

/** Calls at once: a browser has six connections, and one of them is the stream. */
const CONCURRENT = 4;

interface CancelProps {
  ids: string[];
  close: () => void;
  /** Called when all were asked for; with the ids that could not be cancelled. */
  done: (failed: string[]) => void;
}

export function CancelDialog({ ids, close, done }: CancelProps) {
  const [reason, setReason] = useState("");
  const [finished, setFinished] = useState<number>();
  const [error, setError] = useState<string>();
  const id = useId();

  const submit = async (event: Event) => {
    event.preventDefault();
    setFinished(0);
    const waiting = [...ids];
    const failed: string[] = [];
    let problem: string | undefined;
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        try {
          await api.cancel(next, reason.trim());
        } catch (refusal) {
          failed.push(next);
          problem = refusal instanceof ApiError ? refusal.message : String(refusal);
        }
        setFinished((count) => (count ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT }, work));
    done(failed);
    if (problem === undefined) close();
    else {
      setFinished(undefined);
      setError(`${plural(failed.length, "job")} could not be cancelled: ${problem}`);
    }
  };
  return (
    <Dialog title={ids.length === 1 ? "Cancel this job?" : `Cancel ${plural(ids.length, "job")}?`} close={close}>
      <form onSubmit={submit}>
        <p class="hint">A running attempt stops. Jobs that are finished stay as they are. This cannot be undone.</p>
        <label for={id}>Reason (optional)</label>
        <input id={id} value={reason} maxLength={1000} onInput={(event) => setReason(event.currentTarget.value)} />
        {error && (
          <p class="refused" role="alert">
            {error}
          </p>
        )}
        <div class="actions">
          <button type="button" onClick={close}>
            Keep
          </button>
          <button type="submit" class="danger" disabled={finished !== undefined}>
            {finished === undefined ? "Cancel" : `${finished} of ${ids.length}`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
