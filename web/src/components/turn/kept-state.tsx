/** State of what stands in a long list: a row that is scrolled away leaves the page, and what was begun in it must not. */
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useState,
  useSyncExternalStore,
} from "react";

class Kept {
  private readonly states = new Map<string, unknown>();
  private readonly watchers = new Set<() => void>();

  get<T>(name: string, initial: T): T {
    return this.states.has(name) ? (this.states.get(name) as T) : initial;
  }

  set(name: string, state: unknown): void {
    this.states.set(name, state);
    for (const watcher of this.watchers) watcher();
  }

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };
}

const Context = createContext<Kept | null>(null);

/** Keeps the states of the rows in it for as long as it is on the page itself. */
export function KeptStates({ children }: { children: ReactNode }): ReactNode {
  const [kept] = useState(() => new Kept());
  return <Context value={kept}>{children}</Context>;
}

/** Like `useState`, under a name that is the same when the row comes back, also for who changes it after the row left. */
export function useKeptState<T>(name: string, initial: T): [T, (next: T) => void] {
  const [alone] = useState(() => new Kept());
  const [first] = useState(initial);
  const kept = useContext(Context) ?? alone;
  const state = useSyncExternalStore(kept.watch, () => kept.get(name, first));
  return [state, useCallback((next: T) => kept.set(name, next), [kept, name])];
}
