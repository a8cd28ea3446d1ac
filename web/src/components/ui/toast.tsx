/** Short news at the edge of the page: `const toast = useToast(); toast.done("Saved.")`. */
import { CircleAlert, CircleCheck, X } from "lucide-react";
import { Toast as Radix } from "radix-ui";
import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import { problemOf } from "@/api/problem";
import { IconButton } from "./button";

interface News {
  id: number;
  kind: "done" | "failed";
  text: string;
  code?: string;
}

interface Toaster {
  done: (text: string) => void;
  /** Tells what went wrong, with the server's words and code. */
  failed: (thrown: unknown) => void;
}

const SHOWN_MS = 6_000;
const Context = createContext<Toaster | null>(null);
let count = 0;

export function ToastProvider({ children }: { children: ReactNode }): ReactNode {
  const [news, setNews] = useState<News[]>([]);
  const toaster = useMemo<Toaster>(() => {
    const add = (item: Omit<News, "id">) =>
      setNews((shown) => [...shown.slice(-3), { ...item, id: ++count }]);
    return {
      done: (text) => add({ kind: "done", text }),
      failed: (thrown) => {
        const problem = problemOf(thrown);
        add({ kind: "failed", text: problem.message, code: problem.code });
      },
    };
  }, []);
  const drop = (id: number) => setNews((shown) => shown.filter((item) => item.id !== id));
  return (
    <Context value={toaster}>
      <Radix.Provider duration={SHOWN_MS} label="Notifications">
        {children}
        {news.map((item) => (
          <Radix.Root
            key={item.id}
            type={item.kind === "failed" ? "foreground" : "background"}
            onOpenChange={(open) => !open && drop(item.id)}
            className="flex animate-rise items-start gap-2.5 rounded-xl border border-line bg-raised p-3 shadow-xl"
          >
            {item.kind === "done" ? (
              <CircleCheck className="mt-0.5 size-4 shrink-0 text-good" aria-hidden />
            ) : (
              <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
            )}
            <Radix.Description className="min-w-0 flex-1 text-sm wrap-anywhere">
              {item.text}
              {item.code && <span className="ml-1.5 font-mono text-xs text-soft">{item.code}</span>}
            </Radix.Description>
            <Radix.Close asChild>
              <IconButton label="Dismiss" className="-my-1.5 -mr-1.5">
                <X className="size-4" aria-hidden />
              </IconButton>
            </Radix.Close>
          </Radix.Root>
        ))}
        <Radix.Viewport className="fixed right-4 bottom-4 z-[60] flex w-[min(24rem,calc(100vw-2rem))] flex-col gap-2 outline-none" />
      </Radix.Provider>
    </Context>
  );
}

export function useToast(): Toaster {
  const toaster = useContext(Context);
  if (!toaster) throw new Error("There is no ToastProvider above.");
  return toaster;
}
