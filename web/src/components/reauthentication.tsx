/** Asks for the password again when the server wants a fresh proof: `const fresh = useFresh(); await fresh(() => ...)`. */
import { useQuery } from "@tanstack/react-query";
import { createContext, type FormEvent, type ReactNode, useCallback, useContext, useState } from "react";
import { api } from "@/lib/api";
import { problemOf } from "@/lib/problem";
import { meQuery, signInMethodsQuery } from "@/lib/queries";
import { Button, buttonClass } from "./ui/button";
import { Actions, Dialog } from "./ui/dialog";
import { Field, Input } from "./ui/field";

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
        title="Is it still you?"
        description="This changes who can do what here: prove once more who you are."
      >
        <Proof onProved={() => settle(true)} onCancel={() => settle(false)} />
      </Dialog>
    </Context>
  );
}

export function useFresh(): Fresh {
  const fresh = useContext(Context);
  if (!fresh) throw new Error("There is no ReauthenticationProvider above.");
  return fresh;
}

interface ProofProps {
  onProved: () => void;
  onCancel: () => void;
}

/** By password; somebody who signs in elsewhere goes there, and begins again when they are back. */
function Proof(props: ProofProps): ReactNode {
  const me = useQuery(meQuery);
  const methods = useQuery(signInMethodsQuery);
  if (me.data?.account?.has_password !== false) return <ProofForm {...props} />;
  const here = encodeURIComponent(`${location.pathname}${location.search}`);
  return (
    <div className="flex flex-col gap-2">
      {methods.data?.providers.map(({ id, name, url }) => (
        <a key={id} href={`${url}?purpose=confirm&return_to=${here}`} className={buttonClass("plain")}>
          Confirm with {name}
        </a>
      ))}
    </div>
  );
}

function ProofForm({ onProved, onCancel }: ProofProps): ReactNode {
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
