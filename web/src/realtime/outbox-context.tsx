/** The page's outbox, for components that send or show messages. */
import { createContext, type ReactNode, useContext, useMemo, useSyncExternalStore } from "react";
import { Outbox, type Outgoing } from "./outbox";
import { useSocket } from "./socket-context";

const Context = createContext<Outbox | null>(null);

export function OutboxProvider({ children }: { children: ReactNode }): ReactNode {
  const socket = useSocket();
  const outbox = useMemo(() => new Outbox(socket), [socket]);
  return <Context value={outbox}>{children}</Context>;
}

export function useOutbox(): Outbox {
  const outbox = useContext(Context);
  if (!outbox) throw new Error("There is no OutboxProvider above.");
  return outbox;
}

/** A session's messages that are on their way, as they change. */
export function useOutgoing(sessionId: string): Outgoing[] {
  const outbox = useOutbox();
  const items = useSyncExternalStore(outbox.watch, outbox.get);
  return useMemo(() => items.filter((item) => item.sessionId === sessionId), [items, sessionId]);
}
