/** A page on its way. */
import type { ReactNode } from "react";
import { Skeleton, SkeletonRows } from "@/components/ui/skeleton";

export function PageLoading(): ReactNode {
  return (
    <div className="mx-auto w-full max-w-5xl px-4 pt-6 sm:px-8">
      <Skeleton className="mb-6 h-8 w-48" />
      <SkeletonRows />
    </div>
  );
}
