/** The keyboard shortcuts, on a sheet. */
import type { ReactNode } from "react";
import { Dialog } from "@/components/ui/dialog";
import { COMMAND_KEY } from "@/lib/shortcuts";

const SHORTCUTS: [keys: string[], what: string][] = [
  [["Enter"], "Send the message"],
  [["Shift", "Enter"], "New line"],
  [[COMMAND_KEY, "Enter"], "Add the message to the answer being written"],
  [["Esc"], "Stop the run"],
  [["Alt", "←"], "Previous version of a message"],
  [["Alt", "→"], "Next version of a message"],
  [[COMMAND_KEY, "Shift", "O"], "New chat"],
  [[COMMAND_KEY, "K"], "Search chats"],
  [["/"], "Go to the message box"],
  [["?"], "Show keyboard shortcuts"],
  [["↓", "↑"], "Suggested memories: next, previous"],
  [["A"], "Suggested memories: approve"],
  [["E"], "Suggested memories: edit"],
  [["R"], "Suggested memories: reject"],
  [["Shift", "A"], "Suggested memories: approve all of the chat"],
];

export function HelpSheet({ onClose }: { onClose: () => void }): ReactNode {
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts">
      <dl className="flex flex-col gap-2 text-sm">
        {SHORTCUTS.map(([keys, what]) => (
          <div key={what} className="flex items-center justify-between gap-4">
            <dt className="text-soft">{what}</dt>
            <dd className="flex gap-1">
              {keys.map((key) => (
                <kbd
                  key={key}
                  className="rounded-md border border-line bg-panel px-1.5 py-0.5 font-mono text-xs"
                >
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
