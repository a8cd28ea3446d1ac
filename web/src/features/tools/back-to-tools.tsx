/** The way back to the list. */
import { Link } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";

export function BackToTools(): ReactNode {
  return (
    <Link
      to="/tools"
      className="mb-2 inline-flex items-center gap-1 text-[0.8125rem] text-soft hover:text-ink"
    >
      <ArrowLeft className="size-3.5" aria-hidden />
      Tools
    </Link>
  );
}
