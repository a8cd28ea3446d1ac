/** A provider of the team's, with what can be done with it. */

import { Link } from "@tanstack/react-router";
import { Bot, MoreHorizontal, Pencil, Trash2, Zap } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api, data } from "@/api/client";
import { Badge } from "@/components/ui/badge";
import { Button, IconButton } from "@/components/ui/button";
import { Menu, MenuItem, MenuLine } from "@/components/ui/menu";
import { KINDS } from "@/lib/providers";
import type { ProviderView } from "@/protocol/api";
import { ConnectionResult, runTrial, type Trial } from "./connection-result";

interface ProviderRowProps {
  provider: ProviderView;
  onEdit: () => void;
  onDelete: () => void;
}

export function ProviderRow({ provider, onEdit, onDelete }: ProviderRowProps): ReactNode {
  const [trial, setTrial] = useState<Trial>();
  const { id, name, models } = provider;
  const kind = KINDS.find((one) => one.kind === provider.kind);
  const tryIt = () =>
    id &&
    void runTrial(
      models[0],
      () => data(api.POST("/api/providers/{provider_id}/test", { params: { path: { provider_id: id } } })),
      setTrial,
    );
  return (
    <li className="rounded-2xl border border-line bg-raised p-4">
      <div className="flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1 basis-60">
          <div className="flex flex-wrap items-center gap-2">
            <h2 className="text-sm font-semibold wrap-anywhere">{name}</h2>
            <Badge>{kind?.title ?? provider.kind}</Badge>
            {provider.has_key ? <Badge tone="good">key set</Badge> : <Badge>no key</Badge>}
          </div>
          <p className="mt-1 font-mono text-xs text-soft wrap-anywhere">
            {provider.base_url ?? kind?.address}
          </p>
          {models.length > 0 && (
            <p className="mt-1 text-[0.8125rem] text-soft wrap-anywhere">Models: {models.join(", ")}</p>
          )}
        </div>
        <div className="flex items-center gap-1">
          <Button size="small" busy={trial?.state === "trying"} onClick={tryIt}>
            <Zap className="size-3.5" aria-hidden /> Test
          </Button>
          <Button size="small" aria-label={`Edit ${name}`} onClick={onEdit}>
            <Pencil className="size-3.5" aria-hidden /> Edit
          </Button>
          <Menu
            trigger={
              <IconButton label={`Options for ${name}`}>
                <MoreHorizontal className="size-4" aria-hidden />
              </IconButton>
            }
          >
            <MenuItem asChild>
              <Link to="/agents/new" search={{ provider: provider.name }}>
                <Bot className="size-4" aria-hidden /> Create an agent
              </Link>
            </MenuItem>
            <MenuLine />
            <MenuItem danger onSelect={onDelete}>
              <Trash2 className="size-4" aria-hidden /> Delete
            </MenuItem>
          </Menu>
        </div>
      </div>
      {trial && (
        <div className="mt-3">
          <ConnectionResult trial={trial} />
        </div>
      )}
    </li>
  );
}
