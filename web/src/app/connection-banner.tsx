/** Says that the connection is lost, once it is for more than a blink, and that nothing is. */
import { LoaderCircle } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useSocketState } from "@/realtime/socket-context";

const BLINK_MS = 1_200;

export function ConnectionBanner(): ReactNode {
  const state = useSocketState();
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (state === "online") {
      setShown(false);
      return undefined;
    }
    const timer = setTimeout(() => setShown(true), BLINK_MS);
    return () => clearTimeout(timer);
  }, [state]);
  return (
    <div role="status">
      {shown && (
        <p className="flex animate-fade-in items-center justify-center gap-2 bg-warn-soft px-4 py-1.5 text-center text-sm text-warn">
          <LoaderCircle className="size-4 animate-spin" aria-hidden />
          Connection lost. Reconnecting… Messages you send now are kept and sent later.
        </p>
      )}
    </div>
  );
}
