/** Shows a page only to those with a permission, and whom to ask to the others. The server refuses them too. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Lock } from "lucide-react";
import type { ReactNode } from "react";
import { meQuery } from "@/api/queries";
import type { Me } from "@/protocol/api";
import { buttonClass } from "./ui/button";
import { Empty } from "./ui/empty";
import { useTitle } from "./ui/page";

export type Permission = Me["permissions"][number];

export function Needs({ permission, children }: { permission: Permission; children: ReactNode }): ReactNode {
  const { data: me } = useQuery(meQuery);
  if (!me) return null;
  return me.permissions.includes(permission) ? children : <NoAccess />;
}

export function NoAccess(): ReactNode {
  useTitle("No access");
  return (
    <div className="h-full overflow-y-auto">
      <Empty
        whole
        icon={Lock}
        title="You don't have access to this page"
        action={
          <Link to="/chat" className={buttonClass("primary")}>
            Go to chat
          </Link>
        }
      >
        Ask an owner or admin of your team.
      </Empty>
    </div>
  );
}
