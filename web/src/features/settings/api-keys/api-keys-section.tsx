/** API keys: the user's own, and all keys of the team for those who manage it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api } from "@/api/client";
import { WATCHED } from "@/api/queries";
import { keysQuery, membersQuery } from "@/api/team-queries";
import { Button } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Empty } from "@/components/ui/empty";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Switch } from "@/components/ui/switch";
import { useToast } from "@/components/ui/toast";
import type { KeyView, Me } from "@/protocol/api";
import { readServer } from "../about-section";
import { KeyRow } from "./key-row";
import { madeWith, stateOf } from "./key-rules";
import { NewKeyDialog } from "./new-key-dialog";

export function ApiKeysSection({ me }: { me: Me }): ReactNode {
  const manages = me.permissions.includes("manage");
  const [everybody, setEverybody] = useState(false);
  const keys = useQuery({ ...keysQuery(everybody), ...WATCHED });
  const members = useQuery({ ...membersQuery, enabled: everybody });
  const server = useQuery({ queryKey: ["about"], queryFn: readServer }).data;
  const queryClient = useQueryClient();
  const confirm = useConfirm();
  const toast = useToast();
  const [making, setMaking] = useState(false);

  const revoke = async (key: KeyView) => {
    const more = madeWith(keys.data ?? [], key.id);
    const yes = await confirm({
      title: `Revoke ${key.name}?`,
      message: (
        <>
          Programs that use this key lose access immediately. Keys created with it are revoked too
          {more > 0 ? ` (${more})` : ""}. You cannot undo this.
        </>
      ),
      action: "Revoke",
      danger: true,
    });
    if (!yes) return;
    try {
      await api.DELETE("/api/api-keys/{key_id}", { params: { path: { key_id: key.id } } });
      toast.done(`API key "${key.name}" revoked`);
    } catch (thrown) {
      toast.failed(thrown);
    }
    await queryClient.invalidateQueries({ queryKey: ["api-keys"] });
  };
  const ownerOf = (key: KeyView) =>
    everybody ? (members.data?.find(({ user }) => user === key.user)?.name ?? key.user) : undefined;
  const rows = (shown: KeyView[]) => (
    <ul className="divide-y divide-line rounded-2xl border border-line bg-raised">
      {shown.map((key) => (
        <KeyRow key={key.id} apiKey={key} owner={ownerOf(key)} onRevoke={() => void revoke(key)} />
      ))}
    </ul>
  );
  const current = keys.data?.filter((key) => stateOf(key) !== "revoked") ?? [];
  const revoked = keys.data?.filter((key) => stateOf(key) === "revoked") ?? [];
  const make = (
    <Button look="primary" onClick={() => setMaking(true)}>
      <Plus className="size-4" aria-hidden /> New key
    </Button>
  );
  return (
    <Page
      title="API keys"
      description="Programs use API keys to access this server as you, in this team."
      actions={current.length > 0 && make}
    >
      {manages && (
        <div className="mb-5">
          <Switch label="Show everyone's keys" checked={everybody} onChange={setEverybody} />
        </div>
      )}
      {server !== undefined && "running_per_key" in server && (
        <p className="mb-5 text-sm text-soft">
          Each key can have runs in {server.running_per_key} chats at once. Your team runs{" "}
          {server.running_per_tenant} at once; more are queued.
        </p>
      )}
      {keys.isPending && <SkeletonRows rows={3} />}
      {keys.isError && <ProblemNote problem={keys.error} onRetry={() => void keys.refetch()} />}
      {current.length > 0 && rows(current)}
      {keys.data && current.length === 0 && (
        <Empty icon={KeyRound} title="No API keys" action={make}>
          Create one per program, so that you can revoke each separately.
        </Empty>
      )}
      {revoked.length > 0 && (
        <details className="mt-6">
          <summary className="text-sm text-soft hover:text-ink">Revoked keys ({revoked.length})</summary>
          <div className="mt-3">{rows(revoked)}</div>
        </details>
      )}
      {making && <NewKeyDialog me={me} onClose={() => setMaking(false)} />}
    </Page>
  );
}
