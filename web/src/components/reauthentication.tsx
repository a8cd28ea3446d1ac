/** Asks for a fresh proof of identity when the server wants one: `const fresh = useFresh(); await fresh(() => ...)`. */
import { createContext, lazy, type ReactNode, Suspense, useCallback, useContext, useState } from "react";
import { problemOf } from "@/api/problem";

/** Few pages need it: it loads when it is asked for. */
const ProofDialog = lazy(async () => ({ default: (await import("./proof")).ProofDialog }));

type Fresh = <T>(action: () => Promise<T>) => Promise<T>;
type Settle = (proved: boolean) => void;
const Context = createContext<Fresh | null>(null);

export function ReauthenticationProvider({ children }: { children: ReactNode }): ReactNode {
  const [waiting, setWaiting] = useState<Settle | null>(null);
  const fresh = useCallback<Fresh>(async (action) => {
    try {
      return await action();
    } catch (thrown) {
      if (problemOf(thrown).code !== "reauthentication_required") throw thrown;
      const proved = await new Promise<boolean>((resolve) =>
        setWaiting((before: Settle | null): Settle => {
          before?.(false);
          return resolve;
        }),
      );
      if (!proved) throw thrown;
      return action();
    }
  }, []);
  const settle = (proved: boolean) => {
    waiting?.(proved);
    setWaiting(null);
  };
  return (
    <Context value={fresh}>
      {children}
      {waiting && (
        <Suspense>
          <ProofDialog onProved={() => settle(true)} onCancel={() => settle(false)} />
        </Suspense>
      )}
    </Context>
  );
}

export function useFresh(): Fresh {
  const fresh = useContext(Context);
  if (!fresh) throw new Error("There is no ReauthenticationProvider above.");
  return fresh;
}
