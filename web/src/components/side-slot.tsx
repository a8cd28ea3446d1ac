/** The place in the side bar that a page fills, as the chat does with its list: `<SideSlot>...</SideSlot>`. */
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";

const Content = createContext<ReactNode>(null);
const Fill = createContext<(content: ReactNode) => void>(() => undefined);

export function SideSlotProvider({ children }: { children: ReactNode }): ReactNode {
  const [content, setContent] = useState<ReactNode>(null);
  return (
    <Fill value={setContent}>
      <Content value={content}>{children}</Content>
    </Fill>
  );
}

/** What fills the slot now. */
export function useSideSlot(): ReactNode {
  return useContext(Content);
}

/** Fills the slot as long as it is on the page. Give it an element that does not change with every rendering. */
export function SideSlot({ children }: { children: ReactNode }): ReactNode {
  const fill = useContext(Fill);
  useEffect(() => {
    fill(children);
    return () => fill(null);
  }, [fill, children]);
  return null;
}
