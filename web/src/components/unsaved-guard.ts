/** Asks before the user leaves a page with unsaved changes. */
import { useBlocker } from "@tanstack/react-router";
import { useCallback, useRef } from "react";
import { useConfirm } from "./ui/confirm";

/** Returns how to let the next way out go without a question, for after saving. */
export function useUnsavedGuard(unsaved: boolean): () => void {
  const confirm = useConfirm();
  const released = useRef(false);
  useBlocker({
    shouldBlockFn: async () => {
      if (!unsaved || released.current) return false;
      return !(await confirm({
        title: "Leave without saving?",
        message: "Your changes will be lost.",
        action: "Leave",
        danger: true,
      }));
    },
    enableBeforeUnload: () => unsaved && !released.current,
  });
  return useCallback(() => {
    released.current = true;
  }, []);
}
