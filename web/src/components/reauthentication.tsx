/** Asks for the password again when the server wants a fresh proof: `const fresh = useFresh(); await fresh(() => ...)`. */
import { createContext, type FormEvent, type ReactNode, useCallback, useContext, useState } from "react";
import { api } from "@/lib/api";
import { problemOf } from "@/lib/problem";
import { Button } from "./ui/button";
import { Actions, Dialog } from "./ui/dialog";
import { Field, Input } from "./ui/field";

type Fresh = <T>(action: () => Promise<T>) => Promise<T>;
const Context = createContext<Fresh | null>(null);

export function ReauthenticationProvider({ children }: { children: ReactNode }): ReactNode {
  const [waiting, setWaiting] = useState<((proved: boolean) => void) | null>(null);
  const fresh = useCallback<Fresh>(async (action) => {
    try {
      return await action();
    } catch (thrown) {
      if (problemOf(thrown).code !== "reauthentication_required") throw thrown;
      const proved = await new Promise<boolean>((resolve) => setWaiting(() => resolve));
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
        title="Is it still you?"
        description="This changes who can do what here. Enter your password once more."
      >
        <ProofForm onProved={() => settle(true)} onCancel={() => settle(false)} />
      </Dialog>
    </Context>
  );
}

export function useFresh(): Fresh {
  const fresh = useContext(Context);
  if (!fresh) throw new Error("There is no ReauthenticationProvider above.");
  return fresh;
}

function ProofForm({ onProved, onCancel }: { onProved: () => void; onCancel: () => void }): ReactNode {
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const prove = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await api.POST("/api/account/confirm", { body: { password } });
      onProved();
    } catch (thrown) {
      const { code, message } = problemOf(thrown);
      setProblem(code === "wrong_credentials" ? "That is not the password." : message);
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void prove(event)}>
      <Field label="Password" problem={problem}>
        {(control) => (
          <Input
            {...control}
            type="password"
            autoComplete="current-password"
            maxLength={1024}
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        )}
      </Field>
      <Actions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" busy={busy}>
          Go on
        </Button>
      </Actions>
    </form>
  );
}
