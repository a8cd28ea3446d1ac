/** Says which chat this one was copied from. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { GitFork } from "lucide-react";
import type { ReactNode } from "react";
import { sessionQuery } from "@/api/queries";

export function ForkNote({ sessionId }: { sessionId: string }): ReactNode {
  const source = useQuery(sessionQuery(sessionId));
  return (
    <p className="flex items-center justify-center gap-2 text-[0.8125rem] text-soft">
      <GitFork className="size-4 shrink-0" aria-hidden />
      {source.isError ? (
        "Forked from a deleted chat"
      ) : (
        <span className="min-w-0 truncate">
          Forked from{" "}
          <Link
            to="/chat/$sessionId"
            params={{ sessionId }}
            className="font-medium text-accent-text underline underline-offset-2"
          >
            {source.data?.title || "another chat"}
          </Link>
        </span>
      )}
    </p>
  );
}
