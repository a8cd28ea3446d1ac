/** Loads a module when a component first needs it; until then, and if it cannot be had, there is nothing. */
import { useEffect, useState } from "react";

export interface Lazily<Module> {
  load: () => Promise<Module>;
  loaded?: Module;
}

export function useLazily<Module>(lazily: Lazily<Module>, wanted: boolean): Module | undefined {
  const [loaded, setLoaded] = useState(() => lazily.loaded);
  useEffect(() => {
    if (!wanted || loaded) return undefined;
    let mounted = true;
    lazily.load().then(
      (module) => {
        lazily.loaded = module;
        if (mounted) setLoaded(() => module);
      },
      () => undefined, // offline: the plain text stays
    );
    return () => {
      mounted = false;
    };
  }, [lazily, wanted, loaded]);
  return wanted ? loaded : undefined;
}
