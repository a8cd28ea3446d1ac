/** The ways to sign in elsewhere, one button each; the browser leaves the page for them. */
import { LogIn } from "lucide-react";
import type { ReactNode } from "react";
import { buttonClass } from "@/components/ui/button";
import type { SignInProvider } from "@/protocol/api";

interface ProviderButtonsProps {
  providers: SignInProvider[];
  /** Where to come back to, and the invitation to come with. */
  given: Record<string, string>;
  /** The user leaves for the provider. */
  onLeave?: () => void;
}

export function ProviderButtons({ providers, given, onLeave }: ProviderButtonsProps): ReactNode {
  if (providers.length === 0) return null;
  return (
    <div className="flex flex-col gap-2">
      {providers.map(({ id, name, url }) => (
        <a
          key={id}
          href={`${url}?${new URLSearchParams(given)}`}
          onClick={onLeave}
          className={buttonClass("plain")}
        >
          <LogIn className="size-4" aria-hidden />
          <span className="truncate">Continue with {name}</span>
        </a>
      ))}
    </div>
  );
}
