/** Why somebody does not see a part of the settings. */
import { Lock } from "lucide-react";
import type { ReactNode } from "react";
import { Empty } from "@/components/ui/empty";

export function OnlyFor({ whom, children }: { whom: string; children: ReactNode }): ReactNode {
  return (
    <Empty icon={Lock} title={`Only for ${whom}`}>
      {children}
    </Empty>
  );
}
