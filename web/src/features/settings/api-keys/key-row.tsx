/** An API key as it is listed. */
import type { ReactNode } from "react";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { formatAgo, formatDay, formatMoment } from "@/lib/format";
import type { KeyView } from "@/protocol/api";
import { stateOf } from "./key-rules";

interface KeyRowProps {
  apiKey: KeyView;
  /** The owner, where the keys of all members are listed. */
  owner?: string | undefined;
  onRevoke: () => void;
}

export function KeyRow({ apiKey, owner, onRevoke }: KeyRowProps): ReactNode {
  const state = stateOf(apiKey);
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-56">
        <div className="flex flex-wrap items-center gap-2">
          <span className="text-sm font-medium wrap-anywhere">{apiKey.name}</span>
          {state !== "works" && <Badge tone="bad">{state}</Badge>}
          {(apiKey.permissions ?? ["full access"]).map((permission) => (
            <Badge key={permission}>{permission}</Badge>
          ))}
        </div>
        <p className="mt-1 text-[0.8125rem] text-soft wrap-anywhere">
          <code className="font-mono text-xs">{apiKey.prefix}…</code>
          {owner && <> · {owner}</>} · created <Time at={apiKey.created_at} />
          {" · "}
          {apiKey.last_used_at === null ? "never used" : <>used {formatAgo(apiKey.last_used_at)}</>}
          {" · "}
          {ends(apiKey)}
          {apiKey.made_by && " · created by another key"}
        </p>
      </div>
      {state !== "revoked" && (
        <Button size="small" onClick={onRevoke} aria-label={`Revoke ${apiKey.name}`}>
          Revoke
        </Button>
      )}
    </li>
  );
}

function ends({ revoked_at, expires_at }: KeyView): string {
  if (revoked_at !== null) return `revoked ${formatAgo(revoked_at)}`;
  if (expires_at === null) return "never expires";
  return `${expires_at <= Date.now() ? "expired" : "expires"} ${formatDay(expires_at)}`;
}

function Time({ at }: { at: number }): ReactNode {
  return (
    <time dateTime={new Date(at).toISOString()} title={formatMoment(at)}>
      {formatDay(at)}
    </time>
  );
}
