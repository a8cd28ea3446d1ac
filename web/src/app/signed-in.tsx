/** Lets in who is signed in, with the page's socket; others are asked to sign in and come back to where they were. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Outlet, useRouter } from "@tanstack/react-router";
import { type ReactNode, useCallback, useEffect } from "react";
import { ProblemNote } from "@/components/ui/problem-note";
import { api, onUnauthenticated } from "@/lib/api";
import { problemOf } from "@/lib/problem";
import { meQuery } from "@/lib/queries";
import { OutboxProvider } from "@/realtime/outbox-context";
import { SocketProvider } from "@/realtime/socket-context";
import { Shell } from "./shell";

export function SignedIn(): ReactNode {
  const me = useQuery(meQuery);
  const queryClient = useQueryClient();
  useEffect(() => onUnauthenticated(() => void queryClient.invalidateQueries(meQuery)), [queryClient]);
  const mayReturn = useCallback(async () => {
    try {
      await api.GET("/api/me");
      return true;
    } catch (thrown) {
      if (problemOf(thrown).code !== "unauthenticated") return true;
      void queryClient.invalidateQueries(meQuery);
      return false;
    }
  }, [queryClient]);

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
  return (
    <SocketProvider mayReturn={mayReturn}>
      <OutboxProvider>
        <Shell me={me.data}>
          <Outlet />
        </Shell>
      </OutboxProvider>
    </SocketProvider>
  );
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
