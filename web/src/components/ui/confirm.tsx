/** Asks before something that cannot be undone: `const confirm = useConfirm(); if (await confirm({...})) ...`. */
import { AlertDialog } from "radix-ui";
import { createContext, type ReactNode, useCallback, useContext, useState } from "react";
import { Button } from "./button";
import { useFocusReturn } from "./focus-return";

export interface Question {
  title: string;
  message: ReactNode;
  /** The word on the button that does it. */
  action: string;
  /** The word on the one that does not; "Cancel" if it is left out. */
  refusal?: string;
  danger?: boolean;
}

type Ask = (question: Question) => Promise<boolean>;
const Context = createContext<Ask | null>(null);

interface Asked extends Question {
  answer: (yes: boolean) => void;
}

export function ConfirmProvider({ children }: { children: ReactNode }): ReactNode {
  const [asked, setAsked] = useState<Asked | null>(null);
  const ask = useCallback<Ask>(
    (question) =>
      new Promise((answer) =>
        setAsked((before) => {
          before?.answer(false); // its caller must not wait forever
          return { ...question, answer };
        }),
      ),
    [],
  );
  const giveBack = useFocusReturn(asked !== null);
  const answer = (yes: boolean) => {
    asked?.answer(yes);
    setAsked(null);
  };
  return (
    <Context value={ask}>
      {children}
      <AlertDialog.Root open={asked !== null} onOpenChange={(open) => !open && answer(false)}>
        <AlertDialog.Portal>
          <AlertDialog.Overlay className="fixed inset-0 z-50 animate-fade-in bg-black/45" />
          <AlertDialog.Content
            onCloseAutoFocus={giveBack}
            className="fixed top-1/2 left-1/2 z-50 w-[calc(100vw-2rem)] max-w-md -translate-x-1/2 -translate-y-1/2 animate-rise rounded-2xl border border-line bg-raised p-5 shadow-2xl"
          >
            <AlertDialog.Title className="text-base font-semibold">{asked?.title}</AlertDialog.Title>
            <AlertDialog.Description asChild>
              <div className="mt-2 text-sm text-soft">{asked?.message}</div>
            </AlertDialog.Description>
            <div className="mt-5 flex justify-end gap-2">
              <AlertDialog.Cancel asChild>
                <Button>{asked?.refusal ?? "Cancel"}</Button>
              </AlertDialog.Cancel>
              <AlertDialog.Action asChild>
                <Button look={asked?.danger ? "danger" : "primary"} onClick={() => answer(true)}>
                  {asked?.action}
                </Button>
              </AlertDialog.Action>
            </div>
          </AlertDialog.Content>
        </AlertDialog.Portal>
      </AlertDialog.Root>
    </Context>
  );
}

export function useConfirm(): Ask {
  const ask = useContext(Context);
  if (!ask) throw new Error("There is no ConfirmProvider above.");
  return ask;
}
