/** Where something will be, while it is on its way. */
import type { ReactNode } from "react";
import { cx } from "@/lib/class-names";

export function Skeleton({ className }: { className?: string }): ReactNode {
  return <div aria-hidden className={cx("animate-shimmer rounded-lg bg-hover", className)} />;
}

/** Rows of a list that is loading; says so to screen readers. */
export function SkeletonRows({
  rows = 5,
  className = "h-14",
}: {
  rows?: number;
  className?: string;
}): ReactNode {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-2">
      {[...Array(rows).keys()].map((row) => (
        <Skeleton key={row} className={className} />
      ))}
    </div>
  );
}
