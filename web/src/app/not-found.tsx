/** An address where nothing is. */
import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import type { ReactNode } from "react";
import { buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { useTitle } from "@/components/ui/page";

export function NotFound(): ReactNode {
  useTitle("Not found");
  return (
    <main className="h-full overflow-y-auto">
      <Empty
        whole
        icon={Compass}
        title="Page not found"
        action={
          <Link to="/chat" className={buttonClass("primary")}>
            Go to chat
          </Link>
        }
      >
        The address is wrong, or the page was removed.
      </Empty>
    </main>
  );
}
