/** Parts of a page of which one is shown. */
import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

interface TabsProps {
  /** What the tabs are about, for screen readers. */
  label: string;
  tabs: { id: string; title: ReactNode; content: ReactNode }[];
  value?: string;
  onChange?: (id: string) => void;
}

export function Tabs({ label, tabs, value, onChange }: TabsProps): ReactNode {
  const first = tabs[0]?.id ?? "";
  return (
    <Radix.Root
      {...(value === undefined ? { defaultValue: first } : { value })}
      {...(onChange ? { onValueChange: onChange } : {})}
    >
      <Radix.List
        aria-label={label}
        className="flex gap-1 overflow-x-auto overflow-y-hidden border-b border-line pt-1 pl-1"
      >
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            className="rounded-t-md border-b-2 border-transparent px-3 py-2 text-sm font-medium whitespace-nowrap text-soft hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink focus-visible:-outline-offset-2"
          >
            {tab.title}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className="pt-4 focus-visible:outline-offset-4">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
