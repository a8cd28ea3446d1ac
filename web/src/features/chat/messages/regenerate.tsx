/** Has an answer written again: at once, or by another model of the agent's provider. */
import { useQuery } from "@tanstack/react-query";
import { ChevronDown, RotateCcw } from "lucide-react";
import { type ReactNode, Suspense } from "react";
import { meQuery } from "@/api/queries";
import { IconButton } from "@/components/ui/button";
import { Menu, MenuLabel } from "@/components/ui/menu";
import { OtherModels } from "./later";

interface RegenerateProps {
  sessionId: string;
  /** Why it cannot be done now. */
  blocked: string | null;
  onRegenerate: (model?: string) => void;
}

export function Regenerate({ sessionId, blocked, onRegenerate }: RegenerateProps): ReactNode {
  const mayChoose = useQuery(meQuery).data?.permissions.includes("build");
  return (
    <span className="flex items-center">
      <IconButton label="Regenerate" unavailable={blocked} onClick={() => onRegenerate()}>
        <RotateCcw className="size-4" aria-hidden />
      </IconButton>
      {mayChoose && blocked === null && (
        <Menu
          align="start"
          trigger={
            <IconButton label="Regenerate with another model" className="-ml-1 w-6!">
              <ChevronDown className="size-3.5" aria-hidden />
            </IconButton>
          }
        >
          <Suspense fallback={<MenuLabel>Loading…</MenuLabel>}>
            <OtherModels sessionId={sessionId} onChoose={onRegenerate} />
          </Suspense>
        </Menu>
      )}
    </span>
  );
}
