// The filter of the list. It is in the address, so that a link shows the same list to others.

import { useEffect, useState } from "preact/hooks";
import { statusName } from "../parts";
import { navigate } from "../router";
import { STATUSES, type Status } from "../types";
import { type JobsFilter, filterAddress } from "./filter";

const FIRST_FIELD = "filter-namespace";

export function focusFilter(): void {
  document.getElementById(FIRST_FIELD)?.focus();
}

export function FilterBar({ filter }: { filter: JobsFilter }) {
  const toggle = (status: Status) => {
    const statuses = filter.statuses.includes(status)
      ? filter.statuses.filter((other) => other !== status)
      : [...filter.statuses, status];
    navigate(filterAddress({ ...filter, statuses }));
  };
  return (
    <div class="filters" role="search">
      <div class="chips" role="group" aria-label="Status">
        <button type="button" aria-pressed={filter.statuses.length === 0} onClick={() => navigate(filterAddress({ ...filter, statuses: [] }))}>
          All
        </button>
        {STATUSES.map((status) => (
          <button
            type="button"
            key={status}
            data-status={status}
            aria-pressed={filter.statuses.includes(status)}
            onClick={() => toggle(status)}
          >
            {statusName(status)}
          </button>
        ))}
      </div>
      <TextFilter
        id={FIRST_FIELD}
        label="Namespace"
        value={filter.namespace}
        apply={(namespace) => navigate(filterAddress({ ...filter, namespace }))}
      />
      <TextFilter id="filter-name" label="Name" value={filter.name} apply={(name) => navigate(filterAddress({ ...filter, name }))} />
    </div>
  );
}

interface TextFilterProps {
  id: string;
  label: string;
  value: string;
  apply: (value: string) => void;
}

/** A field that applies when the user is done with it: each value is another list. */
function TextFilter({ id, label, value, apply }: TextFilterProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const done = () => {
    if (text.trim() !== value) apply(text.trim());
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="any"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") done();
          if (event.key === "Escape") event.currentTarget.blur();
        }}
        onBlur={done}
      />
    </div>
  );
}
