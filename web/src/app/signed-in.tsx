/** Lets in who is signed in, with the page's socket; others are asked to sign in and come back to where they were. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Outlet, useRouter } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from "react";
import { claimTab } from "@/api/browser-session";
import { onUnauthenticated } from "@/api/client";
import { problemOf } from "@/api/problem";
import { meQuery } from "@/api/queries";
import { ProblemNote } from "@/components/ui/problem-note";
import type { Me } from "@/protocol/api";
import { OutboxProvider } from "@/realtime/outbox-context";
import { SocketProvider } from "@/realtime/socket-context";
import { Shell } from "./shell";

const ChangedElsewhere = lazy(async () => ({
  default: (await import("./changed-elsewhere")).ChangedElsewhere,
}));

export function SignedIn(): ReactNode {
  const me = useQuery(meQuery);
  const queryClient = useQueryClient();
  useEffect(() => onUnauthenticated(() => void queryClient.invalidateQueries(meQuery)), [queryClient]);

  if (me.isError && problemOf(me.error).code === "unauthenticated") {
    return <ToSignIn />;
  }
  if (me.isPending) return <div role="status" aria-label="Loading" />;
  if (!me.data) {
    return (
      <main className="mx-auto max-w-xl p-8">
        <ProblemNote problem={me.error} onRetry={() => void me.refetch()} />
      </main>
    );
  }
  return <Inside me={me.data} />;
}

function Inside({ me }: { me: Me }): ReactNode {
  const queryClient = useQueryClient();
  const [began] = useState(() => {
    claimTab(me); // before anything reads what this tab keeps
    return me;
  });
  const mayReturn = useCallback(async () => {
    try {
      // Read anew: rights that change cut the socket too.
      const now = await queryClient.fetchQuery({ ...meQuery, staleTime: 0, retry: false });
      return isSame(now, began);
    } catch (thrown) {
      return problemOf(thrown).code !== "unauthenticated";
    }
  }, [queryClient, began]);
  if (!isSame(me, began))
    return (
      <Suspense>
        <ChangedElsewhere began={began} me={me} />
      </Suspense>
    );
  return (
    <SocketProvider mayReturn={mayReturn}>
      <OutboxProvider>
        <Shell me={me}>
          <Outlet />
        </Shell>
      </OutboxProvider>
    </SocketProvider>
  );
}

function isSame(one: Me, other: Me): boolean {
  return one.tenant === other.tenant && one.user === other.user;
}

/** Leaves for the sign-in page, once, and says there where one wanted to go. */
function ToSignIn(): ReactNode {
  const router = useRouter();
  useEffect(() => {
    const wanted = router.state.location.href;
    void router.navigate({
      to: "/sign-in",
      search: wanted === "/chat" || wanted === "/" ? {} : { return_to: wanted },
      replace: true,
    });
  }, [router]);
  return null;
}
