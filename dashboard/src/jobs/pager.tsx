// From page to page. The API's tokens lead to older jobs only, so the entry of the history keeps those of the newer pages.

import { Left, Right } from "../icons";
import { navigate } from "../router";
import { type JobsFilter, pageAddress } from "./filter";

interface PageTrail {
  newer: string[];
}

function trail(): PageTrail | undefined {
  const state: unknown = history.state;
  return state !== null && typeof state === "object" && "newer" in state ? (state as PageTrail) : undefined;
}

export function Pager({ filter, token, nextToken }: { filter: JobsFilter; token: string; nextToken: string }) {
  const newer = trail()?.newer;
  const older = () => {
    navigate(pageAddress(filter, nextToken), { state: { newer: [...(newer ?? []), token] } satisfies PageTrail });
  };
  const back = () => {
    const to = newer?.at(-1) ?? "";
    navigate(pageAddress(filter, to), { state: { newer: newer?.slice(0, -1) ?? [] } satisfies PageTrail });
  };
  // A pasted link has no trail: from there the way back is to the first page.
  const known = newer !== undefined && newer.length > 0;
  return (
    <nav class="pager" aria-label="Pages of the list">
      <button type="button" disabled={token === ""} onClick={back}>
        <Left />
        {token === "" || known ? "Newer" : "Newest"}
      </button>
      <button type="button" disabled={nextToken === ""} onClick={older}>
        Older
        <Right />
      </button>
    </nav>
  );
}
