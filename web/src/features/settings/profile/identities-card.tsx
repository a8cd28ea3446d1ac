/** Sign-ins elsewhere that are linked to the account. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api, data } from "@/api/client";
import { identitiesQuery, signInMethodsQuery } from "@/api/team-queries";
import { useFresh } from "@/components/reauthentication";
import { Button } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Card } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { useToast } from "@/components/ui/toast";
import { formatDay } from "@/lib/format";

export function IdentitiesCard(): ReactNode {
  const methods = useQuery(signInMethodsQuery);
  const identities = useQuery(identitiesQuery);
  const queryClient = useQueryClient();
  const fresh = useFresh();
  const confirm = useConfirm();
  const toast = useToast();
  const [busy, setBusy] = useState<string>();
  if (methods.data?.providers.length === 0) return null;

  const link = async (provider: string) => {
    setBusy(provider);
    const params = { path: { provider }, query: { return_to: "/settings/profile" } };
    try {
      const { url } = await fresh(() => data(api.POST("/api/account/identities/{provider}", { params })));
      location.assign(url);
    } catch (thrown) {
      toast.failed(thrown);
      setBusy(undefined);
    }
  };
  const unlink = async (provider: string, name: string) => {
    const message = `You will no longer be able to sign in with ${name}. The link stays reserved for you and can be restored.`;
    if (!(await confirm({ title: `Unlink ${name}?`, message, action: "Unlink", danger: true }))) return;
    setBusy(provider);
    try {
      await fresh(() => api.DELETE("/api/account/identities/{provider}", { params: { path: { provider } } }));
      toast.done(`${name} unlinked`);
    } catch (thrown) {
      toast.failed(thrown);
    }
    setBusy(undefined);
    await queryClient.invalidateQueries(identitiesQuery);
  };
  return (
    <Card title="Sign-in providers">
      {identities.isError && (
        <ProblemNote problem={identities.error} onRetry={() => void identities.refetch()} />
      )}
      <ul className="flex flex-col gap-3">
        {methods.data?.providers.map(({ id, name }) => {
          const linked = identities.data?.find(({ provider }) => provider === id);
          return (
            <li key={id} className="flex flex-wrap items-center gap-3">
              <div className="min-w-0 flex-1">
                <p className="text-sm font-medium wrap-anywhere">{name}</p>
                <p className="text-[0.8125rem] text-soft">
                  {linked ? `Linked since ${formatDay(linked.linked_at)}` : "Not linked"}
                </p>
              </div>
              <Button
                size="small"
                busy={busy === id}
                disabled={!identities.data}
                onClick={() => void (linked ? unlink(id, name) : link(id))}
                aria-label={`${linked ? "Unlink" : "Link"} ${name}`}
              >
                {linked ? "Unlink" : "Link"}
              </Button>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
