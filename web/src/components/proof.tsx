/** A fresh proof of identity, in a dialog. */
import { useQuery } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import { type FormEvent, type ReactNode, useEffect, useEffectEvent, useState } from "react";
import { api } from "@/api/client";
import { problemOf } from "@/api/problem";
import { meQuery } from "@/api/queries";
import { identitiesQuery, signInMethodsQuery } from "@/api/team-queries";
import { onConfirmed } from "@/lib/confirmed";
import { Button, buttonClass } from "./ui/button";
import { Actions, Dialog } from "./ui/dialog";
import { Field, Input } from "./ui/field";
import { ProblemNote } from "./ui/problem-note";
import { SkeletonRows } from "./ui/skeleton";

interface ProofProps {
  onProved: () => void;
  onCancel: () => void;
}

export function ProofDialog({ onProved, onCancel }: ProofProps): ReactNode {
  return (
    <Dialog
      open
      onClose={onCancel}
      title="Confirm it's you"
      description="Enter your password or sign in again."
    >
      <Proof onProved={onProved} onCancel={onCancel} />
    </Dialog>
  );
}

/** By password, or where the account is linked. */
function Proof(props: ProofProps): ReactNode {
  const me = useQuery(meQuery);
  const identities = useQuery(identitiesQuery);
  const methods = useQuery(signInMethodsQuery);
  const hasPassword = me.data?.account?.has_password !== false;
  const linked = (methods.data?.providers ?? []).filter(({ id }) =>
    identities.data?.some(({ provider }) => provider === id),
  );
  const problem = identities.error ?? methods.error;
  const go = useEffectEvent(props.onProved);
  useEffect(() => onConfirmed(go), []);
  return (
    <div className="flex flex-col gap-4">
      {linked.length > 0 && (
        <div className="flex flex-col gap-2">
          {linked.map(({ id, name, url }) => (
            // In a new tab: the form here is kept, and continues when that tab reports success.
            <a
              key={id}
              href={`${url}?purpose=confirm&return_to=/confirmed`}
              target="_blank"
              rel="noopener"
              className={buttonClass("plain")}
            >
              <ExternalLink className="size-4" aria-hidden />
              <span className="truncate">Confirm with {name}</span>
            </a>
          ))}
          <p className="text-[0.8125rem] text-soft">
            Opens in a new tab. Sign in there, and this page continues automatically.
          </p>
        </div>
      )}
      {hasPassword ? (
        <ProofForm {...props} />
      ) : (
        <>
          {problem && <ProblemNote problem={problem} />}
          {(identities.isPending || methods.isPending) && <SkeletonRows rows={1} className="h-9" />}
          <Actions>
            <Button onClick={props.onCancel}>Cancel</Button>
          </Actions>
        </>
      )}
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
      setProblem(code === "wrong_credentials" ? "Wrong password." : message);
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
          Continue
        </Button>
      </Actions>
    </form>
  );
}
