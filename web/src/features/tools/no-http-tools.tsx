/** What HTTP tools are, for a team that has none. */
import { Link } from "@tanstack/react-router";
import { Globe, Plus } from "lucide-react";
import type { ReactNode } from "react";
import { buttonClass } from "@/components/ui/button";

export function NoHttpTools(): ReactNode {
  return (
    <div className="grid gap-6 rounded-2xl border border-dashed border-line p-5 md:grid-cols-2 md:p-6">
      <div className="flex flex-col items-start gap-3">
        <div className="grid size-10 place-items-center rounded-xl bg-accent-soft text-accent-text">
          <Globe className="size-5" aria-hidden />
        </div>
        <h3 className="text-sm font-semibold">Let agents call your services, without code</h3>
        <p className="text-sm text-soft">
          You choose the address and which parts the model supplies. Put keys and passwords into secret
          headers: they are encrypted, and never shown to the model or to people.
        </p>
        <Link to="/tools/new" className={buttonClass("primary")}>
          <Plus className="size-4" aria-hidden />
          Create the first tool
        </Link>
      </div>
      <figure className="min-w-0 rounded-xl bg-panel p-4 text-[0.8125rem]">
        <figcaption className="mb-2 font-medium">For example</figcaption>
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
          <dt className="text-soft">Name</dt>
          <dd className="font-mono wrap-anywhere">find_order</dd>
          <dt className="text-soft">Request</dt>
          <dd className="font-mono wrap-anywhere">
            GET https://shop.example.com/api/orders/
            <span className="inline-block rounded bg-accent-soft px-0.5 text-accent-text">{"{number}"}</span>
          </dd>
          <dt className="text-soft">Someone asks</dt>
          <dd>“Where is my order 1207?”</dd>
          <dt className="text-soft">The agent calls</dt>
          <dd className="font-mono wrap-anywhere">
            …/api/orders/<span className="rounded bg-accent-soft px-0.5 text-accent-text">1207</span>
          </dd>
        </dl>
      </figure>
    </div>
  );
}
