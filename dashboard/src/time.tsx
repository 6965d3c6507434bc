// Times and ages that tick, all by one timer.

import { createContext } from "preact";
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { absoluteTime, age, duration } from "./format";

const Now = createContext(Date.now());

export function Clock({ children }: { children: ComponentChildren }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return <Now.Provider value={now}>{children}</Now.Provider>;
}

export function useNow(): number {
  return useContext(Now);
}

/** How long ago something was; its time on hover. */
export function Ago({ at, suffix = "" }: { at: string; suffix?: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={absoluteTime(at)}>
      {age(now - Date.parse(at))}
      {suffix}
    </time>
  );
}

/** How long until something; "now" when it is due. */
export function Until({ at }: { at: string }) {
  const left = Date.parse(at) - useNow();
  return (
    <time dateTime={at} title={absoluteTime(at)}>
      {left > 0 ? `in ${duration(left)}` : "now"}
    </time>
  );
}

/** The time between two instants; until now if the second is missing. */
export function Elapsed({ from, to }: { from: string; to?: string | undefined }) {
  const now = useNow();
  const end = to === undefined ? now : Date.parse(to);
  return <span title={to === undefined ? "still running" : absoluteTime(to)}>{duration(end - Date.parse(from))}</span>;
}
