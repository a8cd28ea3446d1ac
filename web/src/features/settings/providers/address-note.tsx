/** Shows below a base URL whether the server calls it, and if not, how its administrator allows it. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { addressQuery } from "@/api/team-queries";
import { CopyButton } from "@/components/ui/copy-button";
import { keepEntries } from "@/lib/allow-advice";
import { useSettled } from "@/lib/use-settled";
import type { AddressCheck } from "@/protocol/api";
import { isNearby, urlProblem } from "./provider-form";

export function AddressNote({ url }: { url: string }): ReactNode {
  const settled = useSettled(url.trim());
  const near = isNearby(settled) && urlProblem(settled) === undefined;
  const check = useQuery({ ...addressQuery(settled), enabled: near });
  return (
    <div role="status" className="-mt-2 text-[0.8125rem] empty:hidden">
      {near && settled === url.trim() && check.data && (
        <Verdict check={check.data} host={new URL(settled).host} />
      )}
    </div>
  );
}

function Verdict({ check: { state, setting }, host }: { check: AddressCheck; host: string }): ReactNode {
  if (state === "allowed") return <p className="text-good">Private address, allowed by this server.</p>;
  if (setting === null)
    return (
      <p className="text-warn">Blocked: this server never calls {host}. Use the address of a model server.</p>
    );
  return (
    <div className="flex flex-col gap-2 rounded-xl bg-warn-soft px-4 py-3 text-warn wrap-anywhere">
      <p>
        {state === "refused"
          ? `Blocked: ${host} is a private address. The server administrator can allow it with this setting:`
          : `${host} was not found. If it is in the server's private network, the administrator must also allow it:`}
      </p>
      <Line text={setting} />
      <p>
        Put it in front of the command that starts the server, such as{" "}
        <code className="font-mono text-xs">make run</code>, or in the environment of Docker or systemd, and
        restart the server. {keepEntries(setting.replace(/^.*=/, ""))}
      </p>
    </div>
  );
}

function Line({ text }: { text: string }): ReactNode {
  return (
    <div className="flex items-start gap-2 rounded-lg border border-line bg-panel py-1 pr-1 pl-3 text-ink">
      <code className="min-w-0 flex-1 self-center font-mono text-xs break-all select-all">{text}</code>
      <CopyButton text={text} label="Copy setting" />
    </div>
  );
}
