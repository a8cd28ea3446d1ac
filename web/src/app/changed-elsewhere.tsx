/** Shown when another tab switched the team or the user: the content of this page belongs to the former one. */
import { UsersRound } from "lucide-react";
import type { ReactNode } from "react";
import { leave, returnToTeam } from "@/api/browser-session";
import { Button } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { useTitle } from "@/components/ui/page";
import { useToast } from "@/components/ui/toast";
import type { Me } from "@/protocol/api";

interface ChangedElsewhereProps {
  /** Who one was when this page was opened. */
  began: Me;
  me: Me;
}

export function ChangedElsewhere({ began, me }: ChangedElsewhereProps): ReactNode {
  useTitle("Changed in another tab");
  const toast = useToast();
  const here = me.tenants.find((team) => team.tenant === me.tenant)?.name ?? me.tenant;
  const before = me.tenants.find((team) => team.tenant === began.tenant && team.tenant !== me.tenant);
  return (
    <main className="h-dvh overflow-y-auto">
      <Empty
        whole
        icon={UsersRound}
        title={before ? `You are in ${here} now` : `You are signed in as ${me.name} now`}
        action={
          <>
            <Button look="primary" onClick={() => leave("/")}>
              Continue in {here}
            </Button>
            {before && (
              <Button onClick={() => void returnToTeam(before.tenant).catch(toast.failed)}>
                Back to {before.name}
              </Button>
            )}
          </>
        }
      >
        {before
          ? `You switched teams in another tab. This tab still showed ${before.name}; a browser can be in one team at a time.`
          : "You signed in with another account in another tab."}
      </Empty>
    </main>
  );
}
