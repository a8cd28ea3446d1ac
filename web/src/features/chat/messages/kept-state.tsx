/** State of what stands in a long list: a row that is scrolled away leaves the page, and what was begun in it must not. */
import { createContext, type ReactNode, useCallback, useContext, useState } from "react";

const Context = createContext<Map<string, unknown> | null>(null);

/** Keeps the states of the rows in it for as long as it is on the page itself. */
export function KeptStates({ children }: { children: ReactNode }): ReactNode {
  const [kept] = useState(() => new Map<string, unknown>());
  return <Context value={kept}>{children}</Context>;
}

/** Like `useState`, under a name that is the same when the row comes back. */
export function useKeptState<T>(name: string, initial: T): [T, (next: T) => void] {
  const kept = useContext(Context);
  const [state, setState] = useState<T>(() => (kept?.has(name) ? (kept.get(name) as T) : initial));
  const change = useCallback(
    (next: T) => {
      kept?.set(name, next);
      setState(() => next);
    },
    [kept, name],
  );
  return [state, change];
}
