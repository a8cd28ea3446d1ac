/** A page that broke: the rest of the app still works, and this one can be tried again. */
import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { ServerCrash } from "lucide-react";
import type { ReactNode } from "react";
import { problemOf } from "@/api/problem";
import { Button } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { useTitle } from "@/components/ui/page";

export function PageError({ error, reset }: ErrorComponentProps): ReactNode {
  const router = useRouter();
  const { message } = problemOf(error);
  const stale = /dynamically imported module|Importing a module script failed/i.test(String(error));
  useTitle("Something went wrong");
  const again = () => {
    if (stale) location.reload();
    else void router.invalidate().then(reset);
  };
  return (
    <main className="h-full overflow-y-auto">
      <Empty
        whole
        icon={ServerCrash}
        title={stale ? "This page could not be loaded" : "Something went wrong on this page"}
        action={
          <Button look="primary" onClick={again}>
            {stale ? "Reload" : "Try again"}
          </Button>
        }
      >
        {stale ? "The server was updated, or it cannot be reached." : message}
      </Empty>
    </main>
  );
}
