/** A thread on its way. */
import type { ReactNode } from "react";
import { Skeleton } from "@/components/ui/skeleton";

export function ThreadSkeleton(): ReactNode {
  return (
    <div role="status" aria-label="Loading" className="min-h-0 flex-1 overflow-hidden px-4">
      <div className="mx-auto flex max-w-3xl flex-col gap-4 py-8">
        <Skeleton className="h-10 w-56 self-end rounded-2xl" />
        <Skeleton className="h-4 w-11/12" />
        <Skeleton className="h-4 w-4/5" />
        <Skeleton className="h-4 w-3/5" />
        <Skeleton className="mt-6 h-10 w-72 max-w-full self-end rounded-2xl" />
        <Skeleton className="h-4 w-10/12" />
        <Skeleton className="h-4 w-2/3" />
      </div>
    </div>
  );
}
