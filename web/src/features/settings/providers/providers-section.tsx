/** The team's model providers, and those the operator offers. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plug, Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api } from "@/api/client";
import { providersQuery } from "@/api/queries";
import { Badge } from "@/components/ui/badge";
import { Button, buttonClass } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Empty } from "@/components/ui/empty";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import type { ProviderView } from "@/protocol/api";
import { Presets } from "./presets";
import { ProviderDialog } from "./provider-dialog";
import type { Preset } from "./provider-form";
import { ProviderRow } from "./provider-row";

/** What the dialog is open for. */
type Opened = { provider?: ProviderView; preset?: Preset };

export function ProvidersSection(): ReactNode {
  const providers = useQuery(providersQuery);
  const queryClient = useQueryClient();
  const confirm = useConfirm();
  const toast = useToast();
  const [opened, setOpened] = useState<Opened>();
  const [added, setAdded] = useState<ProviderView>();
  const own = providers.data?.filter(({ source }) => source === "team") ?? [];
  const operators = providers.data?.filter(({ source }) => source === "operator") ?? [];

  const remove = async ({ id, name }: ProviderView) => {
    const yes = await confirm({
      title: `Delete ${name}?`,
      message: "Its key is deleted too. Agents that use it fail until you choose another provider for them.",
      action: "Delete",
      danger: true,
    });
    if (!yes || !id) return;
    try {
      await api.DELETE("/api/providers/{provider_id}", { params: { path: { provider_id: id } } });
      if (added?.name === name) setAdded(undefined);
      toast.done(`Provider "${name}" deleted`);
    } catch (thrown) {
      toast.failed(thrown);
    }
    await queryClient.invalidateQueries(providersQuery);
  };
  return (
    <Page
      title="Model providers"
      description="Connect a vendor with your API key, or any compatible model server."
      actions={
        own.length > 0 && (
          <Button look="primary" onClick={() => setOpened({})}>
            <Plus className="size-4" aria-hidden /> Add
          </Button>
        )
      }
    >
      {providers.isPending && <SkeletonRows rows={3} className="h-20" />}
      {providers.isError && (
        <ProblemNote problem={providers.error} onRetry={() => void providers.refetch()} />
      )}
      {added && <Added provider={added} />}
      {own.length > 0 && (
        <ul className="flex flex-col gap-3">
          {own.map((provider) => (
            <ProviderRow
              key={provider.id}
              provider={provider}
              onEdit={() => setOpened({ provider })}
              onDelete={() => void remove(provider)}
            />
          ))}
        </ul>
      )}
      {providers.data && own.length === 0 && (
        <Nothing onChoose={(preset) => setOpened(preset ? { preset } : {})} />
      )}
      {operators.length > 0 && <Operators providers={operators} />}
      {opened && (
        <ProviderDialog
          provider={opened.provider}
          preset={opened.preset}
          onClose={() => setOpened(undefined)}
          onSaved={(saved) => {
            if (opened.provider) toast.done(`Provider "${saved.name}" saved`);
            else setAdded(saved);
            setOpened(undefined);
          }}
        />
      )}
    </Page>
  );
}

function Added({ provider: { name, models } }: { provider: ProviderView }): ReactNode {
  return (
    <div
      role="status"
      className="mb-4 flex flex-wrap items-center gap-3 rounded-xl bg-good-soft px-4 py-3 text-sm text-good"
    >
      <p className="min-w-0 flex-1 wrap-anywhere">
        Provider "{name}" added.{" "}
        {models.length > 0
          ? "Your agents can use it now."
          : "It has no model list: enter the model name when you create an agent."}
      </p>
      <Link to="/agents/new" search={{ provider: name }} className={buttonClass("plain", "small")}>
        Create an agent
      </Link>
    </div>
  );
}

function Nothing({ onChoose }: { onChoose: (preset?: Preset) => void }): ReactNode {
  return (
    <div className="rounded-2xl border border-line bg-raised p-5">
      <div className="mx-auto max-w-2xl">
        <Empty
          icon={Plug}
          title="Connect your first model"
          action={
            <Button look="primary" onClick={() => onChoose()}>
              <Plus className="size-4" aria-hidden /> Add a provider
            </Button>
          }
        >
          The demo agent works without one. For real answers, add a vendor and your API key, or the address of
          a model server.
        </Empty>
        <Presets onChoose={onChoose} />
      </div>
    </div>
  );
}

function Operators({ providers }: { providers: ProviderView[] }): ReactNode {
  return (
    <section className="mt-8" aria-labelledby="operators">
      <h2 id="operators" className="text-sm font-semibold">
        Provided by this server
      </h2>
      <p className="mt-1 text-[0.8125rem] text-soft">Configured by the server administrator.</p>
      <ul className="mt-3 flex flex-wrap gap-2">
        {providers.map(({ name }) => (
          <li key={name}>
            <Badge tone="accent">{name === "demo" ? "demo (offline)" : name}</Badge>
          </li>
        ))}
      </ul>
    </section>
  );
}
