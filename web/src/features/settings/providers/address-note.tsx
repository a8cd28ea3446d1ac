/** Says below a base URL whether the server calls it, and what whoever runs the server does if not. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { addressQuery } from "@/api/queries";
import { CopyButton } from "@/components/ui/copy-button";
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
        <Told check={check.data} host={new URL(settled).host} />
      )}
    </div>
  );
}

function Told({ check: { state, setting }, host }: { check: AddressCheck; host: string }): ReactNode {
  if (state === "allowed") return <p className="text-good">Private address, allowed by this server.</p>;
  if (setting === null)
    return (
      <p className="text-warn">Blocked: this server never calls {host}. Use the address of a model server.</p>
    );
  const [name, place] = setting.split("=");
  return (
    <div className="flex flex-col gap-2 rounded-xl bg-warn-soft px-4 py-3 text-warn wrap-anywhere">
      <p>
        {state === "refused"
          ? `This server does not call ${host} yet: its own machine and network are closed to agents. Whoever runs it opens this one address with a line in its environment:`
          : `This server does not find ${host} right now. If it is of the server's own network, whoever runs it also has to open it:`}
      </p>
      <Line text={setting} />
      <p>
        Write it in front of the command that starts the server, such as{" "}
        <code className="font-mono text-xs">make run</code>, or where Docker or systemd keep its environment.
        If {name} is set already, add <code className="font-mono text-xs">{place}</code> to it after a comma.
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
