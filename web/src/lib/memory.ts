/** What the browser remembers, for this tab or for all of them. One that may not, or has no room left, forgets. */
interface Memory {
  read: (name: string) => string | null;
  /** Remembers it; null forgets it. */
  keep: (name: string, value: string | null) => void;
  /** Reads it for the last time. */
  take: (name: string) => string | null;
  clear: () => void;
}

/** `storage` is asked for each time: where it is blocked, naming it throws already. */
export function memoryOf(storage: () => Storage): Memory {
  const attempt = <T>(action: (kept: Storage) => T, otherwise: T): T => {
    try {
      return action(storage());
    } catch {
      return otherwise;
    }
  };
  const read = (name: string) => attempt((kept) => kept.getItem(name), null);
  const keep = (name: string, value: string | null) =>
    attempt((kept) => (value === null ? kept.removeItem(name) : kept.setItem(name, value)), undefined);
  return {
    read,
    keep,
    take: (name) => {
      const value = read(name);
      keep(name, null);
      return value;
    },
    clear: () => attempt((kept) => kept.clear(), undefined),
  };
}

export const tabMemory = memoryOf(() => sessionStorage);
export const browserMemory = memoryOf(() => localStorage);
