/** Asks for a fresh proof of identity when the server wants one: `const fresh = useFresh(); await fresh(() => ...)`. */
import { createContext, lazy, type ReactNode, Suspense, useCallback, useContext, useState } from "react";
import { problemOf } from "@/api/problem";
import { Dialog } from "./ui/dialog";
import { SkeletonRows } from "./ui/skeleton";

/** Few pages need it: it loads when it is asked for. */
const Proof = lazy(async () => ({ default: (await import("./proof")).Proof }));

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
      <Dialog
        open={waiting !== null}
        onClose={() => settle(false)}
        title="Confirm it's you"
        description="Enter your password or sign in again."
      >
        <Suspense fallback={<SkeletonRows rows={1} className="h-9" />}>
          <Proof onProved={() => settle(true)} onCancel={() => settle(false)} />
        </Suspense>
      </Dialog>
    </Context>
  );
}

export function useFresh(): Fresh {
  const fresh = useContext(Context);
  if (!fresh) throw new Error("There is no ReauthenticationProvider above.");
  return fresh;
}
